/** Files that the browser makes itself. */
import type { Cell } from "../api/types";

export function download(name: string, content: string, type: string): void {
  saveBlob(new Blob([content], { type }), name);
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

function quoted(value: Cell): string {
  const text = value === null ? "" : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no formulas in spreadsheets
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(labels: string[], rows: Cell[][]): string {
  return [labels, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n");
}

/** A file name out of a title. */
export function fileName(title: string): string {
  return (
    title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60) || "chart"
  );
}

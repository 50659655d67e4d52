/** Market figures of a step in words: their names, values and changes. */
import type { StepDetails } from "../../api/types";
import { DASH, formatCell, healthFactor } from "../../lib/format";

export type Figure = StepDetails["figures"][number];

const FORMATS: Record<string, string> = { usd_e8: "usd", ray: "percent", count: "count", gas: "count" };
const SMALLEST_CHANGE = 0.0005;

export function named(metric: string): string {
  return metric.replace(/(\d)_(\d)/g, "$1.$2").replaceAll("_", " ");
}

/** Prices are written in full, since their small moves matter; sizes with three digits. */
function formatOf({ metric, unit }: Figure): string {
  if (/(^|_)price(_|$)/.test(metric) && !metric.startsWith("sqrt")) return unit === "usd_e8" ? "exact_usd" : "number";
  return metric === "tick" ? "count" : (FORMATS[unit] ?? "short");
}

export function shown(figure: Figure | undefined): string {
  if (!figure || figure.number === null) return DASH;
  if (figure.metric.startsWith("health_factor") && figure.unit !== "count") return healthFactor(figure.number);
  return formatCell(figure.number, formatOf(figure)) + tokenOf(figure);
}

/** The token that an amount of a reserve is in: `AaveV3.USDC` supplied. Balances have it in their names. */
function tokenOf({ subject, metric, unit }: Figure): string {
  const token = /^e\d+$/.test(unit) && !metric.includes("_") ? /\.([^./]+)$/.exec(subject)?.[1] : undefined;
  return token ? `\u00a0${token}` : "";
}

/** How a figure moved in the step: a share, or the number it came from where that is zero. */
export function changed(figure: Figure, was: number | null | undefined): string {
  if (typeof was !== "number" || figure.number === null || was === figure.number) return "";
  const by = figure.number - was;
  if (figure.unit === "count") return `${by > 0 ? "+" : ""}${formatCell(by, "count")}`;
  if (was === 0) return `from ${formatCell(0, formatOf(figure))}`;
  if (Math.abs(was) > 1e15 || Math.abs(figure.number) > 1e15) return "";
  const share = by / Math.abs(was);
  return Math.abs(share) < SMALLEST_CHANGE ? "" : formatCell(share, "change");
}

import { shortened } from "../lib/format";
import { toast } from "./Toast";

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    // no clipboard outside HTTPS and localhost
    window.prompt("Copy with Ctrl+C", text);
  }
}

export function CopyButton({
  text,
  label = "Copy",
  className = "",
}: {
  text: string;
  label?: string;
  className?: string;
}) {
  return (
    <button
      type="button"
      className={className}
      onClick={() => void copy(text)}
      aria-label={`${label}: ${text.slice(0, 80)}`}
    >
      {label}
    </button>
  );
}

/** A command line or another short text to copy. */
export function CommandLine({ text, label = "Command" }: { text: string; label?: string }) {
  return (
    <div className="command">
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

/** An address or digest, shortened, with a button that copies all of it. Other names stay as they are. */
export function Address({ text }: { text: string }) {
  const short = shortened(text);
  if (short === text) return <span>{text}</span>;
  return (
    <span className="nowrap">
      <span className="mono" title={text}>
        {short}
      </span>
      <CopyButton text={text} className="tiny" />
    </span>
  );
}

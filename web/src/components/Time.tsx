import { ago, utc } from "../lib/format";

/** A moment: how long ago, or in UTC; the other on hover. */
export function Time({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) {
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={utc(at)}>
      {relative ? ago(at) : utc(at)}
    </time>
  );
}

import type { ReactNode } from "react";
import type { RunStatus } from "../api/types";

export type Tone = "good" | "bad" | "warn" | "plain" | "accent";

export function Badge({ tone = "plain", children }: { tone?: Tone | string; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

const TONES: Record<RunStatus, Tone> = {
  queued: "plain",
  running: "accent",
  cancelling: "warn",
  finished: "good",
  failed: "bad",
  halted: "bad",
  cancelled: "plain",
  interrupted: "warn",
};

/** State of a run or sweep. */
export function StatusBadge({ status }: { status: RunStatus }) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

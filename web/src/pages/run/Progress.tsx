import { useEffect, useState } from "react";
import type { JobEvent, RunDetails } from "../../api/types";
import { ProgressBar } from "../../components";
import { count, duration, sentence } from "../../lib/format";

/** How far the run is, from its server-sent events; updated in place. */
export function Progress({ run, event }: { run: RunDetails; event: JobEvent | null }) {
  const now = useSeconds();
  const progress = event?.progress ?? run.progress;
  const done = progress?.done ?? 0;
  const total = progress?.total || run.steps;
  const started = run.started_at ? new Date(run.started_at).getTime() / 1000 : null;
  const elapsed = started === null ? null : Math.max(0, now - started);
  const left = elapsed !== null && done > 0 && done < total ? (elapsed / done) * (total - done) : null;
  const waits = run.status === "queued" && (!event || event.kind === "queued");
  return (
    <section className="live" aria-label="Progress" data-testid="progress">
      <p className="row far">
        <strong>{waits ? waiting(run) : phase(run, progress?.phase)}</strong>
        <span className="num muted">
          {!waits && `step ${count(done)} of ${count(total)}`}
          {elapsed !== null && ` · ${duration(Math.floor(elapsed))}`}
          {left !== null && elapsed !== null && elapsed > 2 && ` · about ${duration(Math.ceil(left))} left`}
        </span>
      </p>
      <ProgressBar done={done} total={total} label="Progress of the run" />
      {event?.kind === "retried" && (
        <p className="small">{sentence(`it has started again: ${event.message || "a worker ended"}`)}</p>
      )}
    </section>
  );
}

function waiting(run: RunDetails): string {
  if (!run.queued_ahead) return "Queued: it starts next";
  return `Queued: ${count(run.queued_ahead)} ${run.queued_ahead === 1 ? "job" : "jobs"} before it`;
}

function phase(run: RunDetails, told: string | undefined): string {
  if (run.status === "cancelling") return "Cancelling …";
  const text = told || "running";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} …`;
}

function useSeconds(): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now() / 1000), 1_000);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}

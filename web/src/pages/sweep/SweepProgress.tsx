import type { JobEvent, SweepDetails } from "../../api/types";
import { ProgressBar, plainTile, Tiles } from "../../components";
import { count, counted, duration } from "../../lib/format";
import { useNow } from "../../lib/now";

/** A sweep that waits or runs: how many runs are done, and how long the rest may take. */
export function SweepProgress({ sweep, event }: { sweep: SweepDetails; event: JobEvent | null }) {
  const now = useNow(1_000);
  const progress = event?.progress ?? sweep.progress;
  const done = progress?.done ?? 0;
  const total = progress?.total || sweep.runs;
  const started = sweep.started_at ? Date.parse(sweep.started_at) : undefined;
  const passed = started === undefined ? null : Math.max(0, (now - started) / 1000);
  const left = passed !== null && done > 0 ? (passed / done) * (total - done) : null;
  const sentence =
    sweep.status === "queued"
      ? sweep.queued_ahead
        ? `Waits for ${counted(sweep.queued_ahead, "other job")}`
        : "Waits for a free worker"
      : `${count(done)} of ${counted(total, "run")} done`;
  return (
    <section className="sweep-live" aria-labelledby="sweep-live-title" data-testid="sweep-progress">
      <p className="subject">Sweep of {sweep.scenario}</p>
      <h1 id="sweep-live-title">{sentence}</h1>
      <p className="small" role="status">
        {event?.message || (progress?.phase !== "running" && progress?.phase) || ""}
      </p>
      <ProgressBar done={done} total={total} label="Runs that are done" />
      <Tiles
        tiles={[
          plainTile("Runs done", count(done), { unit: `of ${count(total)}` }),
          plainTile("Time passed", duration(passed)),
          plainTile("Time left", left === null ? "–" : `about ${duration(left)}`, {
            unit: left === null ? "" : "at this pace",
          }),
        ]}
      />
    </section>
  );
}

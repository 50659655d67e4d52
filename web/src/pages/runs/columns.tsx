/** Columns of the list of runs; also used where the runs of a sweep are listed. */
import { isActive, type RunSummary } from "../../api/types";
import type { DataColumn } from "../../components";
import { ProgressBar, StatusBadge, Time } from "../../components";
import { count, DASH, duration, formatCell } from "../../lib/format";

/** Runs that one comparison holds, as the service takes them. */
export const MOST_COMPARED = 8;

/** The distinguishing end of a run id. */
export function shortId(id: string): string {
  return id.split("-").at(-1) ?? id;
}

function State({ run }: { run: RunSummary }) {
  const progress = isActive(run.status) ? run.progress : null;
  return (
    <span className="run-state" title={run.error || undefined}>
      <StatusBadge status={run.status} />
      {progress && progress.total > 0 && run.status !== "queued" && (
        <ProgressBar done={progress.done} total={progress.total} label={`Progress of ${run.run_id}`} />
      )}
      {run.status === "queued" && run.queued_ahead !== null && run.queued_ahead !== undefined && (
        <span className="small">{run.queued_ahead === 0 ? "next" : `after ${count(run.queued_ahead)}`}</span>
      )}
    </span>
  );
}

function Failed({ run }: { run: RunSummary }) {
  if (run.actions === null || run.actions === undefined) return <span className="muted">–</span>;
  return (
    <>
      {count(run.actions)}
      {run.failed_actions ? <span className="muted"> ({count(run.failed_actions)} failed)</span> : null}
    </>
  );
}

/** What was changed in the scenario, in one line: the last part of each key is enough to recognise it. */
function changesOf(run: RunSummary): string {
  return Object.entries(run.parameters ?? {})
    .map(([key, value]) => `${key.split(".").slice(-2).join(".")} ${value.replace(/^-(?=\d)/, "−")}`)
    .join(", ");
}

function Changes({ run }: { run: RunSummary }) {
  const exact = Object.entries(run.parameters ?? {}).map(([key, value]) => `${key}: ${value}`);
  if (exact.length === 0) return <span className="muted">–</span>;
  return <span title={exact.join("\n")}>{changesOf(run)}</span>;
}

/** What a narrow list shows below each run. */
export const RUN_UNDER = {
  below: 520,
  rowHeight: 80,
  render: (run: RunSummary) => {
    const parts = [run.bad_debt == null ? "" : `bad debt ${badDebt(run)}`, `seed ${run.seed}`, changesOf(run)];
    return <span>{parts.filter(Boolean).join(" · ")}</span>;
  },
};

function badDebt(run: RunSummary): string {
  if (run.bad_debt === null || run.bad_debt === undefined) return DASH;
  return run.bad_debt_unit === "eth_e8" ? `${formatCell(run.bad_debt, "short")} ETH` : formatCell(run.bad_debt, "usd");
}

export const RUN_COLUMNS: DataColumn<RunSummary>[] = [
  {
    id: "scenario",
    header: "Run",
    value: (run) => run.scenario,
    render: (run) => (
      <>
        {run.scenario} <span className="mono muted">{shortId(run.run_id)}</span>
      </>
    ),
    width: "minmax(176px, 2fr)",
  },
  {
    id: "parameters",
    header: "Changed",
    value: changesOf,
    render: (run) => <Changes run={run} />,
    width: "minmax(160px, 3fr)",
    hideBelow: 860,
    wraps: true,
    sortable: false,
  },
  {
    id: "status",
    header: "Status",
    value: (run) => run.status,
    render: (run) => <State run={run} />,
    width: "minmax(112px, 1fr)",
  },
  {
    id: "bad_debt",
    header: "Bad debt",
    value: (run) => run.bad_debt,
    render: (run) => (
      <span className={run.bad_debt ? "bad-text" : ""} title={run.bad_debt ? String(run.bad_debt) : undefined}>
        {badDebt(run)}
      </span>
    ),
    align: "right",
    width: "88px",
    hideBelow: 520,
  },
  { id: "chain", header: "World", value: (run) => run.world, width: "minmax(80px, 0.8fr)", hideBelow: 720 },
  {
    id: "seed",
    header: "Seed",
    value: (run) => run.seed,
    align: "right",
    width: "minmax(48px, 0.7fr)",
    hideBelow: 560,
  },
  {
    id: "steps",
    header: "Steps",
    value: (run) => run.steps,
    render: (run) => count(run.steps),
    align: "right",
    width: "64px",
    hideBelow: 1400,
    sortable: false,
  },
  {
    id: "actions",
    header: "Actions",
    value: (run) => run.actions,
    render: (run) => <Failed run={run} />,
    align: "right",
    width: "136px",
    hideBelow: 1080,
  },
  {
    id: "seconds",
    header: "Duration",
    value: (run) => run.seconds,
    render: (run) => duration(run.seconds),
    align: "right",
    width: "88px",
    hideBelow: 1160,
  },
  {
    id: "owner",
    header: "From",
    value: (run) => (run.sweep_id ? "sweep" : (run.owner ?? "command line")),
    width: "minmax(88px, 1fr)",
    hideBelow: 1400,
    sortable: false,
  },
  {
    id: "submitted_at",
    header: "Submitted",
    value: (run) => run.submitted_at ?? run.started_at,
    render: (run) => <Time at={run.submitted_at ?? run.started_at} relative />,
    align: "right",
    width: "104px",
    hideBelow: 480,
  },
];

/** `/sweeps`: all sweeps, newest first, live. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { queries } from "../../api/queries";
import { isActive, type SweepSummary } from "../../api/types";
import { type DataColumn, ProgressBar, StatusBadge, Time } from "../../components";
import { ListPage } from "../../components/ListPage";
import { ago, count, duration } from "../../lib/format";
import { useMayWrite } from "../../shell/session";
import { useTitle } from "../../shell/useTitle";
import "../runs/runs.css";

const PAGE = 200;
const MOST = 1000;

export function Component() {
  useTitle("Sweeps");
  const [limit, setLimit] = useState(PAGE);
  const mayWrite = useMayWrite();
  const sweeps = useQuery({
    ...queries.sweeps({ limit }),
    refetchInterval: (query) => (query.state.data?.items.some((each) => isActive(each.status)) ? 1_500 : 5_000),
  });
  const start = mayWrite && (
    <Link to="/sweeps/new" className="button primary">
      New sweep
    </Link>
  );
  return (
    <ListPage
      title="Sweeps"
      one="sweep"
      query={sweeps}
      columns={COLUMNS}
      rowId={(row) => row.sweep_id}
      href={(row) => `/sweeps/${row.sweep_id}`}
      under={UNDER}
      action={start}
      empty={
        <>
          <p>
            A sweep runs a scenario with many seeds, and at several values of its keys. It tells how much of a result is
            chance, and estimates VaR.
          </p>
          {start || (
            <p className="muted">
              This key is read-only. <code>mayavi sweep depeg_cascade --seeds 0:100</code> on this store appears here as
              well.
            </p>
          )}
        </>
      }
      more={
        sweeps.data?.next &&
        limit < MOST && (
          <p className="grid-more">
            <button type="button" onClick={() => setLimit(MOST)}>
              Show more
            </button>
          </p>
        )
      }
    />
  );
}

function State({ sweep }: { sweep: SweepSummary }) {
  const { progress } = sweep;
  return (
    <span className="run-state" title={sweep.error || undefined}>
      <StatusBadge status={sweep.status} />
      {sweep.status === "running" && progress && (
        <ProgressBar done={progress.done} total={progress.total} label={`Progress of ${sweep.sweep_id}`} />
      )}
      {sweep.status === "queued" && sweep.queued_ahead != null && (
        <span className="small">{sweep.queued_ahead === 0 ? "next" : `after ${count(sweep.queued_ahead)}`}</span>
      )}
    </span>
  );
}

function seconds(sweep: SweepSummary): number | null {
  if (!sweep.started_at || !sweep.ended_at) return null;
  return (Date.parse(sweep.ended_at) - Date.parse(sweep.started_at)) / 1000;
}

/** What a narrow list shows below each sweep. */
const UNDER = {
  below: 480,
  rowHeight: 64,
  render: (sweep: SweepSummary) => (
    <span>
      {runsOf(sweep)} runs · {ago(sweep.submitted_at ?? sweep.started_at)}
    </span>
  ),
};

function runsOf({ status, progress, runs }: SweepSummary): string {
  return isActive(status) && progress ? `${count(progress.done)} of ${count(runs)}` : count(runs);
}

const COLUMNS: DataColumn<SweepSummary>[] = [
  {
    id: "scenario",
    header: "Sweep",
    value: (sweep) => sweep.scenario,
    render: (sweep) => (
      <>
        {sweep.scenario} <span className="mono muted">{sweep.sweep_id.replace(/^sweep-/, "").slice(0, 8)}</span>
      </>
    ),
    width: "minmax(160px, 4fr)",
  },
  {
    id: "status",
    header: "Status",
    value: (sweep) => sweep.status,
    render: (sweep) => <State sweep={sweep} />,
    width: "minmax(112px, 1.4fr)",
  },
  {
    id: "runs",
    header: "Runs",
    value: (sweep) => sweep.runs,
    render: runsOf,
    align: "right",
    width: "112px",
    hideBelow: 480,
  },
  {
    id: "seconds",
    header: "Duration",
    value: seconds,
    render: (sweep) => duration(seconds(sweep)),
    align: "right",
    width: "104px",
    hideBelow: 820,
  },
  {
    id: "owner",
    header: "From",
    value: (sweep) => sweep.owner ?? "command line",
    width: "minmax(96px, 1fr)",
    hideBelow: 1000,
  },
  {
    id: "submitted_at",
    header: "Submitted",
    value: (sweep) => sweep.submitted_at ?? sweep.started_at,
    render: (sweep) => <Time at={sweep.submitted_at ?? sweep.started_at} relative />,
    align: "right",
    width: "104px",
    hideBelow: 620,
  },
];

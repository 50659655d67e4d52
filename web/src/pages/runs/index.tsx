/** All runs: live, filtered, sorted and paged by the service; chosen ones are compared or cancelled. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";
import { cancelRun } from "../../api/commands";
import { queries } from "../../api/queries";
import { queryClient } from "../../api/query-client";
import { isActive, type RunFilter, type RunStatus, type RunSummary } from "../../api/types";
import { ConfirmOnce, DataTable, EmptyState, ErrorState, Loading, toast, toastError } from "../../components";
import { Choice } from "../../components/Choice";
import { SearchField } from "../../components/SearchField";
import { count, counted } from "../../lib/format";
import { useShortcuts } from "../../lib/keys";
import { useUrlState } from "../../lib/url-state";
import { useMayWrite } from "../../shell/session";
import { useTitle } from "../../shell/useTitle";
import { MOST_COMPARED, RUN_COLUMNS, RUN_UNDER } from "./columns";
import "./runs.css";
import { useRuns } from "./use-runs";

const STATUSES: RunStatus[] = [
  "queued",
  "running",
  "cancelling",
  "finished",
  "failed",
  "halted",
  "cancelled",
  "interrupted",
];
type SortKey = NonNullable<RunFilter["sort"]>;

export function Component() {
  useTitle("Runs");
  const [params, change] = useUrlState();
  const [visible, setVisible] = useState({ first: 0, last: 0 });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const navigate = useNavigate();
  const filter = filterOf(params);
  const runs = useRuns(filter, visible.last, visible.first);
  const { rows, loadMore } = runs;
  const atTop = visible.first === 0;

  // At the top of the list new runs appear by themselves; further down they would move what is being read.
  useEffect(() => {
    if (runs.changed && atTop && !runs.isStale) runs.renew();
  });

  const seen = useCallback(
    (first: number, last: number) => {
      setVisible((known) => (known.first === first && known.last === last ? known : { first, last }));
      if (last > rows.length - 60) loadMore();
    },
    [rows.length, loadMore],
  );

  const compare = () => {
    const wanted = [...chosen];
    if (wanted.length < 2) toast("Select at least two runs to compare: press x on a row, or tick its box.", "warn");
    else if (wanted.length > MOST_COMPARED) toast(`A comparison holds ${MOST_COMPARED} runs at most.`, "warn");
    else void navigate(`/compare?${wanted.map((id) => `run=${encodeURIComponent(id)}`).join("&")}`);
  };
  useShortcuts([{ keys: "c", text: "compare the selected runs", run: compare }]);

  const filtered = ["q", "status", "scenario", "chain", "single"].some((name) => params.has(name));
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
      </div>
      <Filters params={params} change={change} />
      <div className="list-line">
        <span className="muted num" role="status" data-testid="run-count">
          {runs.isPending ? "" : counted(runs.total, "run")}
        </span>
        {runs.changed && !atTop && (
          <button type="button" onClick={runs.renew}>
            The list has changed: show the newest
          </button>
        )}
        {chosen.size > 0 && (
          <Chosen rows={rows} chosen={chosen} onClear={() => setChosen(new Set())} onCompare={compare} />
        )}
      </div>
      {runs.error && rows.length === 0 ? (
        <ErrorState error={runs.error} onRetry={runs.renew} />
      ) : runs.isPending ? (
        <Loading what="Loading runs …" />
      ) : rows.length === 0 ? (
        <NoRuns
          filtered={filtered}
          onClear={() => change({ q: "", status: "", scenario: "", chain: "", single: "" })}
        />
      ) : (
        <div className={runs.isStale ? "stale" : ""}>
          <DataTable
            label="Runs"
            testId="runs"
            rows={rows}
            columns={RUN_COLUMNS}
            rowId={(run) => run.run_id}
            href={(run) => `/runs/${run.run_id}`}
            sort={{ column: filter.sort ?? "submitted_at", descending: filter.order !== "asc" }}
            onSort={({ column, descending }) =>
              change({
                sort: column === "submitted_at" && descending ? "" : column,
                order: descending ? "" : "asc",
              })
            }
            selection={chosen}
            onSelection={setChosen}
            total={runs.total}
            under={RUN_UNDER}
            onRange={seen}
            around={236}
            shortcuts
          />
          {runs.hasMore && (
            <p className="grid-more">
              {count(rows.length)} of {count(runs.total)} loaded{runs.isLoadingMore ? ", loading more …" : ""}
            </p>
          )}
        </div>
      )}
    </>
  );
}

function filterOf(params: URLSearchParams): RunFilter {
  const status = params.get("status");
  return {
    search: params.get("q") ?? undefined,
    status: status ? (status.split(",") as RunStatus[]) : undefined,
    scenario: params.get("scenario") ?? undefined,
    chain: params.get("chain") ?? undefined,
    single: params.has("single") || undefined,
    sort: (params.get("sort") as SortKey | null) ?? undefined,
    order: params.get("order") === "asc" ? "asc" : undefined,
  };
}

interface FilterProps {
  params: URLSearchParams;
  change: ReturnType<typeof useUrlState>[1];
}

function Filters({ params, change }: FilterProps) {
  const scenarios = useQuery({ ...queries.scenarios(), staleTime: 60_000 });
  const worlds = useQuery({ ...queries.worlds(), staleTime: 60_000 });
  const names = useMemo(() => scenarios.data?.items.map((each) => each.name) ?? [], [scenarios.data]);
  const places = useMemo(
    () => [...new Set(worlds.data?.items.flatMap((each) => [each.chain, each.world]))],
    [worlds.data],
  );
  return (
    <search className="filters" aria-label="Filter the runs">
      <SearchField
        label="Search runs"
        placeholder="Search id or scenario  /"
        value={params.get("q") ?? ""}
        onChange={(q) => change({ q })}
      />
      <Choice
        label="Status"
        all="Any status"
        value={params.get("status") ?? ""}
        options={[{ value: "queued,running,cancelling", label: "active" }, ...STATUSES]}
        onChange={(status) => change({ status })}
      />
      <Choice
        label="Scenario"
        all="Any scenario"
        value={params.get("scenario") ?? ""}
        options={names}
        onChange={(scenario) => change({ scenario })}
      />
      <Choice
        label="World"
        all="Any world"
        value={params.get("chain") ?? ""}
        options={places}
        onChange={(chain) => change({ chain })}
      />
      <label>
        <input
          type="checkbox"
          checked={params.has("single")}
          onChange={(event) => change({ single: event.target.checked ? "1" : "" })}
        />
        Hide runs of sweeps
      </label>
    </search>
  );
}

interface ChosenProps {
  rows: RunSummary[];
  chosen: ReadonlySet<string>;
  onClear: () => void;
  onCompare: () => void;
}

function Chosen({ rows, chosen, onClear, onCompare }: ChosenProps) {
  const mayWrite = useMayWrite();
  const active = rows.filter((run) => chosen.has(run.run_id) && isActive(run.status));
  async function cancel() {
    const answers = await Promise.allSettled(active.map((run) => cancelRun(run.run_id)));
    const refused = answers.find((each) => each.status === "rejected");
    if (refused) toastError(refused.reason);
    else toast(`Cancelling ${counted(active.length, "run")}`);
    await queryClient.invalidateQueries({ queryKey: ["runs", "live"] });
  }
  return (
    <span className="row" data-testid="selection">
      <strong className="num">{chosen.size} selected</strong>
      <button
        type="button"
        className="primary"
        onClick={onCompare}
        disabled={chosen.size < 2 || chosen.size > MOST_COMPARED}
        title={chosen.size > MOST_COMPARED ? `A comparison holds ${MOST_COMPARED} runs at most` : undefined}
      >
        Compare
      </button>
      {mayWrite && active.length > 0 && (
        <ConfirmOnce question={`Really cancel ${counted(active.length, "run")}?`} onConfirm={() => void cancel()}>
          Cancel {counted(active.length, "run")}
        </ConfirmOnce>
      )}
      <button type="button" className="quiet" onClick={onClear}>
        Clear
      </button>
    </span>
  );
}

function NoRuns({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  const mayWrite = useMayWrite();
  if (filtered)
    return (
      <EmptyState title="No run matches">
        <p>Other runs may: remove a filter.</p>
        <button type="button" onClick={onClear}>
          Show all runs
        </button>
      </EmptyState>
    );
  return (
    <EmptyState title="No runs yet">
      <p>
        A run executes a scenario once, with one seed. Start one here, or with <code>mayavi run depeg_cascade</code> on
        this store.
      </p>
      {mayWrite && (
        <Link to="/new" className="button primary">
          New run
        </Link>
      )}
    </EmptyState>
  );
}

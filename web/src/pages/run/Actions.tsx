/** The action log: filtered and paged by the service, one row a decoded call. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { queries } from "../../api/queries";
import type { ActionFilter, RunDetails, StepAction } from "../../api/types";
import { EmptyState, ErrorState, type GridColumn, Loading, VirtualGrid } from "../../components";
import { Choice } from "../../components/Choice";
import { SearchField } from "../../components/SearchField";
import { count, counted, shortened } from "../../lib/format";
import { useUrlState } from "../../lib/url-state";
import { ActionDetails } from "./ActionDetails";
import { hasResults, Unfinished } from "./Unfinished";
import { useActions } from "./use-actions";
import { useOpened } from "./use-opened";

const STATUSES = ["success", "failed", "declined", "raised"];
const COLUMNS: GridColumn[] = [
  { id: "step", head: "Step", width: "48px", align: "right" },
  { id: "block", head: "Block", width: "88px", align: "right", hideBelow: 900 },
  { id: "agent", head: "Agent", width: "minmax(96px, 132px)" },
  { id: "kind", head: "Action", width: "minmax(80px, 104px)" },
  { id: "call", head: "Call", width: "minmax(0, 3fr)", wraps: true },
  { id: "changes", head: "Change", width: "minmax(0, 2fr)", wraps: true, hideBelow: 980 },
  { id: "gas", head: "Gas", width: "72px", align: "right", hideBelow: 760 },
];
export const ROW_HEIGHT = 44;
/** On a narrow screen the call stands below step, agent and action. */
export const CALL_UNDER = { id: "call", below: 640, rowHeight: 100 };

export function Actions({ run }: { run: RunDetails }) {
  if (!hasResults(run)) return <Unfinished run={run} what="Actions" />;
  return <Log run={run} />;
}

function Log({ run }: { run: RunDetails }) {
  const [params, change] = useUrlState();
  const [current, setCurrent] = useState(-1);
  const filter = filterOf(params);
  const log = useActions(run.run_id, filter);
  const [opened, setOpened] = useOpened(run.run_id, log.loaded);
  const filtered = ["q", "agent", "account", "kind", "status", "step"].some((name) => params.has(name));
  const clear = () => change({ q: "", agent: "", account: "", kind: "", status: "", step: "" });

  function open(row: number) {
    const action = log.at(row);
    if (action) setOpened(opened?.seq === action.seq ? null : action);
  }
  function cell(row: number, column: string) {
    const action = log.at(row);
    if (!action) return column === "call" || column === "step" ? <span className="muted">…</span> : null;
    return <ActionCell action={action} column={column} />;
  }
  return (
    <section aria-label="Action log">
      <LogFilters run={run} params={params} change={change} kinds={log.loaded} />
      <div className="list-line">
        <span className="muted num" role="status" data-testid="action-count">
          {log.isPending ? "" : counted(log.total, "action")}
        </span>
        {filtered && (
          <button type="button" className="quiet" onClick={clear}>
            Show all actions
          </button>
        )}
      </div>
      <div className={`log ${opened ? "with-details" : ""}`}>
        {log.error ? (
          <ErrorState error={log.error} />
        ) : log.isPending && log.total === 0 ? (
          <Loading what="Loading actions …" />
        ) : log.total === 0 ? (
          <EmptyState title={filtered ? "No action matches" : "This run has no actions"} />
        ) : (
          <VirtualGrid
            label="Actions"
            testId="actions"
            columns={COLUMNS}
            count={log.total}
            rowHeight={ROW_HEIGHT}
            under={CALL_UNDER}
            around={368}
            cell={cell}
            rowClass={(row) => (opened && log.at(row)?.seq === opened.seq ? "chosen" : "")}
            current={current}
            onCurrent={setCurrent}
            onOpen={open}
            onRange={log.onRange}
            shortcuts
          />
        )}
        {opened && <ActionDetails run={run} action={opened} onClose={() => setOpened(null)} />}
      </div>
    </section>
  );
}

function filterOf(params: URLSearchParams): ActionFilter {
  const step = params.get("step");
  return {
    search: params.get("q") ?? undefined,
    agent: params.get("agent") ?? undefined,
    account: params.get("account") ?? undefined,
    kind: params.get("kind") ?? undefined,
    status: params.get("status") ?? undefined,
    step: step && /^-?\d+$/.test(step) ? Number(step) : undefined,
  };
}

/** What changed, in one line: the call before it names the borrower already. */
function changesOf({ changes, details }: StepAction): string {
  const whose = typeof details.borrower === "string" ? `${details.borrower}: ` : "";
  const own = (changes ?? []).map((each) => (whose && each.startsWith(whose) ? each.slice(whose.length) : each));
  return own.join(" · ").replaceAll(" %", "\u00a0%");
}

/** One cell of a row of the log, also of a step. */
export function ActionCell({ action, column }: { action: StepAction; column: string }) {
  const failed = action.status !== "success";
  switch (column) {
    case "step":
      return count(action.step);
    case "block":
      return count(action.block_number);
    case "agent":
      return <span title={action.account || action.agent}>{shortened(action.account || action.agent)}</span>;
    case "kind":
      return <span className={failed ? "bad-text" : ""}>{action.kind}</span>;
    case "call": {
      const text = failed ? `${action.status}: ${action.reason.split("\n")[0]}` : action.call;
      return (
        <span className={failed ? "bad-text" : ""} title={text}>
          {text}
        </span>
      );
    }
    case "changes":
      return <span title={action.changes?.join("\n")}>{changesOf(action)}</span>;
    case "gas":
      return count(action.gas_used);
    default:
      return null;
  }
}

interface FilterProps {
  run: RunDetails;
  params: URLSearchParams;
  change: ReturnType<typeof useUrlState>[1];
  kinds: StepAction[];
}

function LogFilters({ run, params, change, kinds }: FilterProps) {
  const agents = useQuery({ ...queries.agents(run.run_id), staleTime: 60_000 });
  const seen = useRef(new Set<string>());
  const known = useMemo(() => {
    for (const action of kinds) seen.current.add(action.kind);
    return [...seen.current].sort();
  }, [kinds]);
  const names = useMemo(() => (agents.data ?? []).slice(0, 2_000).map((each) => each.agent), [agents.data]);
  return (
    <search className="filters" aria-label="Filter the actions">
      <SearchField
        label="Search actions"
        placeholder="Search call, amount, account, reason  /"
        value={params.get("q") ?? ""}
        onChange={(q) => change({ q })}
      />
      <Choice
        label="Agent"
        all="Any agent"
        value={params.get("agent") ?? ""}
        options={names}
        onChange={(agent) => change({ agent })}
      />
      <Choice
        label="Action"
        all="Any action"
        value={params.get("kind") ?? ""}
        options={known}
        onChange={(kind) => change({ kind })}
      />
      <Choice
        label="Status"
        all="Any status"
        value={params.get("status") ?? ""}
        options={STATUSES}
        onChange={(status) => change({ status })}
      />
      <input
        type="number"
        className="step-field"
        aria-label="Step"
        placeholder="Step"
        min={-1}
        max={run.steps}
        value={params.get("step") ?? ""}
        onChange={(event) => change({ step: event.target.value })}
      />
    </search>
  );
}

/** Explain an agent: what happened to it or to one of its accounts, and why. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "react-router";
import { queries } from "../../api/queries";
import type { AgentSummary, RunDetails } from "../../api/types";
import { type DataColumn, DataTable, EmptyState, ErrorState, Loading } from "../../components";
import { SearchField } from "../../components/SearchField";
import { count, DASH } from "../../lib/format";
import { useUrlState } from "../../lib/url-state";
import { Explained } from "./Explained";
import { hasResults, Unfinished } from "./Unfinished";

interface Subject {
  name: string;
  agent: string;
  actions: number;
  failed: number;
  /** Null for what holds no position. */
  liquidations: number | null;
}

export function Agents({ run }: { run: RunDetails }) {
  if (!hasResults(run)) return <Unfinished run={run} what="Agents" />;
  return <Chooser run={run} />;
}

function Chooser({ run }: { run: RunDetails }) {
  const [params, change] = useUrlState();
  const agents = useQuery({ ...queries.agents(run.run_id), staleTime: Number.POSITIVE_INFINITY });
  const wanted = params.get("agent");
  const sought = (params.get("q") ?? "").toLowerCase();
  const subjects = useMemo(() => subjectsOf(agents.data ?? []), [agents.data]);
  const shown = useMemo(
    () => subjects.filter((each) => `${each.name} ${each.agent}`.toLowerCase().includes(sought)),
    [subjects, sought],
  );
  const columns = useMemo<DataColumn<Subject>[]>(
    () => [
      { id: "name", header: "Name", value: (each) => each.name, width: "minmax(96px, 1fr)" },
      {
        id: "actions",
        header: "Actions",
        value: (each) => each.actions,
        render: (each) => count(each.actions),
        align: "right",
        width: "64px",
      },
      {
        id: "liquidations",
        header: "Liquidated",
        value: (each) => each.liquidations,
        render: (each) => (
          <span className={each.liquidations ? "bad-text" : ""}>
            {each.liquidations === null ? DASH : `${count(each.liquidations)} ×`}
          </span>
        ),
        align: "right",
        width: "104px",
      },
      {
        id: "failed",
        header: "Failed",
        value: (each) => each.failed,
        render: (each) => count(each.failed),
        align: "right",
        width: "56px",
        hideBelow: 380,
      },
    ],
    [],
  );
  if (agents.error) return <ErrorState error={agents.error} onRetry={() => void agents.refetch()} />;
  if (!agents.data) return <Loading what="Loading agents …" />;
  return (
    <div className="explain">
      <section className="explain-list" aria-label="Agents">
        <search className="filters" aria-label="Find an agent">
          <SearchField
            label="Search agents and accounts"
            placeholder="Name or address  /"
            value={params.get("q") ?? ""}
            onChange={(q) => change({ q })}
          />
        </search>
        {shown.length === 0 ? (
          <EmptyState title="No agent matches">
            {sought && (
              <p>
                <Link to={`?agent=${encodeURIComponent(params.get("q") ?? "")}`}>
                  Explain «{params.get("q")}» anyway
                </Link>
              </p>
            )}
          </EmptyState>
        ) : (
          <DataTable
            label="Agents and accounts"
            testId="agents"
            rows={shown}
            columns={columns}
            rowId={(each) => each.name}
            href={(each) => `/runs/${run.run_id}/agents?${addressOf(params, each.name)}`}
            sort={{ column: "liquidations", descending: true }}
            rowHeight={32}
            around={340}
            shortcuts
          />
        )}
      </section>
      <section aria-live="polite" className="explain-text">
        {wanted ? (
          <Explained run={run} agent={wanted} />
        ) : (
          <EmptyState title="Choose an agent or an account">
            <p>
              Its history is told in sentences, action by action, with its health factor. Those that were liquidated
              most often come first.
            </p>
          </EmptyState>
        )}
      </section>
    </div>
  );
}

function addressOf(params: URLSearchParams, agent: string): string {
  const next = new URLSearchParams(params);
  next.set("agent", agent);
  return next.toString();
}

/** Agents, and the accounts of those that have several. */
function subjectsOf(agents: AgentSummary[]): Subject[] {
  return agents.flatMap(({ agent, actions, failed, activity }) => {
    const known = activity.flatMap((each) => each.liquidations ?? []);
    const liquidations = known.length > 0 ? known.reduce((sum, each) => sum + each, 0) : null;
    const own = { name: agent, agent, actions, failed, liquidations };
    if (activity.length <= 1) return [own];
    return [own, ...activity.map(({ account, ...counts }) => ({ ...counts, name: account, agent }))];
  });
}

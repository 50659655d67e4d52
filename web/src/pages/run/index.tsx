/** One run: its progress while it lasts, then its result; everything else on tabs with addresses of their own. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { NavLink, useParams } from "react-router";
import { useJobEvents } from "../../api/events";
import { queries } from "../../api/queries";
import { isActive, type RunDetails } from "../../api/types";
import { ErrorState, Loading } from "../../components";
import { NotFound } from "../../shell/NotFound";
import { useTitle } from "../../shell/useTitle";
import { shortId } from "../runs/columns";
import { Accounts } from "./Accounts";
import { Actions } from "./Actions";
import { Agents } from "./Agents";
import { Head } from "./Head";
import { Overview } from "./Overview";
import { Progress } from "./Progress";
import { Report } from "./Report";
import { Scenario } from "./Scenario";
import { Steps } from "./Steps";
import "../runs/runs.css";
import "./run.css";

const TABS = [
  { path: "", label: "Overview", Panel: Overview },
  { path: "actions", label: "Actions", Panel: Actions },
  { path: "agents", label: "Explain an agent", Panel: Agents },
  { path: "steps", label: "Steps", Panel: Steps },
  { path: "accounts", label: "Accounts", Panel: Accounts },
  { path: "scenario", label: "Scenario", Panel: Scenario },
  { path: "report", label: "Report", Panel: Report },
];

export function Component() {
  const { runId = "", "*": path = "" } = useParams();
  const client = useQueryClient();
  const run = useQuery({
    ...queries.run(runId),
    refetchInterval: (query) => (query.state.data && isActive(query.state.data.status) ? 5_000 : false),
  });
  const active = run.data !== undefined && isActive(run.data.status);
  const latest = useJobEvents(active ? `/runs/${encodeURIComponent(runId)}/events` : null, () => {
    void client.invalidateQueries({ queryKey: ["run", runId] });
    void client.invalidateQueries({ queryKey: ["runs"] });
  });
  const tab = TABS.find((each) => each.path === path.replace(/\/$/, ""));
  useTitle(run.data ? `${tab?.path ? `${tab.label} · ` : ""}${run.data.scenario} ${shortId(runId)}` : "Run");
  if (!tab) return <NotFound />;
  if (run.error && !run.data)
    return (
      <>
        <div className="page-head">
          <h1>Run {shortId(runId)}</h1>
        </div>
        <ErrorState error={run.error} onRetry={() => void run.refetch()} />
      </>
    );
  if (!run.data) return <Loading what="Loading the run …" />;
  return (
    <>
      <Head run={run.data} />
      {active && <Progress run={run.data} event={latest} />}
      <Tabs run={run.data} shown={tab.path} />
      <tab.Panel run={run.data} key={runId} />
    </>
  );
}

function Tabs({ run, shown }: { run: RunDetails; shown: string }) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    void shown;
    const tab = bar.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (tab && bar.current) bar.current.scrollLeft = tab.offsetLeft - bar.current.clientWidth / 2 + tab.offsetWidth / 2;
  }, [shown]);
  return (
    <nav className="tabs" aria-label="Parts of the run" ref={bar}>
      {TABS.map(({ path, label }) => (
        <NavLink key={path} to={`/runs/${run.run_id}${path ? `/${path}` : ""}`} end>
          {label}
        </NavLink>
      ))}
    </nav>
  );
}

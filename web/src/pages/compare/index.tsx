/** `/compare?run=A&run=B`: only what differs between runs; the first is the baseline. */
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { queries } from "../../api/queries";
import type { PageData } from "../../api/types";
import { ErrorState, Loading, PageView } from "../../components";
import { ReportLinks } from "../../components/ReportLinks";
import { useTitle } from "../../shell/useTitle";
import { ChosenRuns } from "./ChosenRuns";
import { RunPicker } from "./RunPicker";
import "./compare.css";

export const MOST = 8; // sides of one page, as the service takes them

export function Component() {
  useTitle("Compare");
  const [query, setQuery] = useSearchParams();
  const runs = [...new Set(query.getAll("run"))].slice(0, MOST);
  const choose = (next: string[]) => setQuery(new URLSearchParams(next.map((id) => ["run", id])));
  const page = useQuery({ ...queries.comparison(runs), enabled: runs.length >= 2, staleTime: 60_000 });
  const address = new URLSearchParams(runs.map((id) => ["run", id]));
  return (
    <>
      <div className="page-head crumbs">
        <nav className="grow" aria-label="Breadcrumb">
          <Link to="/runs">Runs</Link>
          <span className="muted" aria-hidden="true">
            {" / "}
          </span>
          compare
        </nav>
        {page.data && <ReportLinks html={`/compare/report?${address}`} />}
      </div>
      {!page.data && <h1 className="compare-title">{runs.length < 2 ? "Choose runs to compare" : "Comparing …"}</h1>}
      <ChosenRuns runs={runs} onChange={choose} />
      <RunPicker chosen={runs} most={MOST} onAdd={(id) => choose([...runs, id])} open={runs.length < 2} />
      {runs.length < 2 ? (
        <p className="lead">
          {runs.length === 1
            ? "One more run, and the comparison begins."
            : "The first run is the baseline. Only what differs is shown."}
        </p>
      ) : page.error && !page.data ? (
        <ErrorState error={page.error} title="These runs cannot be compared" onRetry={() => void page.refetch()} />
      ) : page.data ? (
        <PageView page={page.data as PageData} />
      ) : (
        <Loading what="Comparing …" />
      )}
    </>
  );
}

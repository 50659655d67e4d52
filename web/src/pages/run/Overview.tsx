import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { ApiFailure } from "../../api/failure";
import { queries } from "../../api/queries";
import type { PageBlock, RunDetails } from "../../api/types";
import { ErrorState, Loading, PageView, Scrubber } from "../../components";
import { TableView } from "../../components/StaticTable";
import { counted } from "../../lib/format";
import { hasResults, Unfinished } from "./Unfinished";

/** The result: the report of the run. */
export function Overview({ run }: { run: RunDetails }) {
  const ended = hasResults(run);
  const navigate = useNavigate();
  const page = useQuery({ ...queries.runPage(run.run_id), enabled: ended });
  const toStep = (step: number) => void navigate(`/runs/${run.run_id}/steps?step=${step}`);
  if (!ended || (page.error instanceof ApiFailure && page.error.status === 409))
    return <Unfinished run={run} what="Results" />;
  if (page.error) return <ErrorState error={page.error} onRetry={() => void page.refetch()} />;
  if (!page.data) return <Loading what="Building the report …" />;
  const renderBlock = (block: PageBlock) => {
    if (block.kind === "scrubber")
      return (
        <div className="stack">
          <Scrubber block={block} />
          <p>
            <Link to={`/runs/${run.run_id}/steps`}>Figures and actions of every step</Link>
          </p>
        </div>
      );
    if (block.kind === "table" && block.columns[0]?.label === "account")
      return (
        <TableView
          table={block}
          rowLink={(account) => `/runs/${run.run_id}/agents?agent=${encodeURIComponent(account)}`}
        />
      );
    if (block.kind === "log")
      return (
        <p>
          <Link to={`/runs/${run.run_id}/actions`} className="button">
            Open the action log: {counted(block.total, "action")}
          </Link>
        </p>
      );
    return undefined;
  };
  return (
    <>
      {run.status === "halted" && (
        <p className="box bad" role="alert">
          The run ended early: {run.error}
        </p>
      )}
      <PageView page={page.data} level={2} subject={false} onStep={toStep} renderBlock={renderBlock} />
    </>
  );
}

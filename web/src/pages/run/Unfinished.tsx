import { isActive, type RunDetails } from "../../api/types";
import { EmptyState } from "../../components";

/** What stands in place of results that a run does not have. */
export function Unfinished({ run, what }: { run: RunDetails; what: string }) {
  if (isActive(run.status))
    return (
      <EmptyState title={`${what} appear when the run has ended`}>
        <p>This page updates by itself.</p>
      </EmptyState>
    );
  if (run.status === "cancelled")
    return (
      <EmptyState title="The run was cancelled">
        <p>It left no results.</p>
      </EmptyState>
    );
  return (
    <div className="state error" role="alert" data-testid="error">
      <h2>{run.status === "interrupted" ? "The run has no end" : "The run failed"}</h2>
      <p className="run-error">{run.error || "The process ended before the run did."}</p>
      <p className="muted">The scenario is on its own tab. «Run again» opens it in the form, with the same seed.</p>
    </div>
  );
}

/** Whether a run has results to read. */
export function hasResults(run: RunDetails): boolean {
  return run.status === "finished" || run.status === "halted";
}

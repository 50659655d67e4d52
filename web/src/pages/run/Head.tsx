import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { cancelRun } from "../../api/commands";
import { isActive, type RunDetails } from "../../api/types";
import { ConfirmOnce, CopyButton, StatusBadge, Time, toast, toastError } from "../../components";
import { duration } from "../../lib/format";
import { useMayWrite } from "../../shell/session";

/** Name, state and origin of the run, and what can be done with it. */
export function Head({ run }: { run: RunDetails }) {
  const mayWrite = useMayWrite();
  const client = useQueryClient();
  const active = isActive(run.status);
  async function cancel() {
    try {
      await cancelRun(run.run_id);
      toast("Cancelling the run");
    } catch (error) {
      toastError(error);
    }
    await client.invalidateQueries({ queryKey: ["run", run.run_id] });
  }
  return (
    <div className="run-head">
      <div className="page-head">
        <h1 data-testid="run-title">{run.scenario}</h1>
        {mayWrite && active && (
          <ConfirmOnce
            question="Really cancel this run?"
            onConfirm={() => void cancel()}
            disabled={run.status === "cancelling"}
          >
            Cancel the run
          </ConfirmOnce>
        )}
        {mayWrite && !active && (
          <Link to={`/new?from=${encodeURIComponent(run.run_id)}`} className="button">
            Run again
          </Link>
        )}
        {run.sweep_id && (
          <Link to={`/sweeps/${run.sweep_id}`} className="button">
            Open its sweep
          </Link>
        )}
      </div>
      <p className="run-facts">
        <StatusBadge status={run.status} />
        <span>
          {run.world} · seed {run.seed} · {run.steps} steps
        </span>
        <span className="nowrap">
          <span className="mono">{run.run_id}</span>
          <CopyButton text={run.run_id} className="tiny" />
        </span>
        <span>
          <Time at={run.submitted_at ?? run.started_at} />
          {run.seconds !== null && run.seconds !== undefined ? `, took ${duration(run.seconds)}` : ""}
          {run.owner ? `, by ${run.owner}` : ""}
        </span>
      </p>
    </div>
  );
}

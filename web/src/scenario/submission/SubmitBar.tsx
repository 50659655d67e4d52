/** The bar below form and YAML: start, what stands in the way, and how much was changed. */
import type { ReactNode } from "react";
import { Unreachable } from "../../api/failure";
import { ErrorState } from "../../components";
import { counted } from "../../lib/format";
import { changes } from "../document/changes";
import type { ScenarioDocument } from "../editor/useScenarioDocument";
import { countRuns } from "../sweep/grid";
import type { Submitting } from "./useSubmission";
import type { Checked } from "./useValidation";

const LOST =
  "The service did not answer. Your text is kept. Start it again once the service is back: even if the first request arrived, it starts once.";

interface Props {
  document: ScenarioDocument;
  submitting: Submitting;
  isSweep: boolean;
}

export function SubmitBar({ document, submitting, isSweep }: Props) {
  const { reason, isPending, error, submit, checked } = submitting;
  return (
    <div className="submit-area">
      {error && (
        <ErrorState
          error={error instanceof Unreachable ? new Error(LOST) : error}
          title={isSweep ? "The sweep was not started" : "The run was not started"}
          onRetry={submit}
        />
      )}
      <div className="submit-bar">
        <button
          type="button"
          className="primary"
          disabled={reason !== undefined || isPending}
          onClick={submit}
          data-testid="submit"
          aria-describedby="submit-state"
        >
          {isPending ? "Starting …" : isSweep ? sweepLabel(document) : "Start run"}
        </button>
        <p id="submit-state" className="grow" role="status" data-testid="submit-state">
          {reason ?? <State checked={checked} />}
        </p>
        <ChangeCount document={document} />
      </div>
    </div>
  );
}

function sweepLabel({ seeds, axes }: ScenarioDocument): string {
  const runs = countRuns(seeds, axes);
  return runs === undefined ? "Start sweep" : `Start sweep of ${counted(runs, "run")}`;
}

function State({ checked }: { checked: Checked }): ReactNode {
  if (checked.state === "checking") return <span className="muted">Checking …</span>;
  if (checked.state === "unchecked")
    return <span className="muted">Not checked: the service does not answer. Your text is kept.</span>;
  return <span className="form-good">No problems found.</span>;
}

function ChangeCount({ document }: { document: ScenarioDocument }) {
  const { base, parsed, startOver, changed } = document;
  if (!changed) return <span className="muted small">nothing changed yet</span>;
  const count = parsed.problems.length === 0 ? changes(base.value, parsed.value).length : undefined;
  return (
    <span className="row">
      <span className="muted small">{count === undefined ? "changed" : counted(count, "change")}</span>
      <button type="button" className="tiny" onClick={startOver} data-testid="start-over">
        start over
      </button>
    </span>
  );
}

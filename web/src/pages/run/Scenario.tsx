import type { RunDetails } from "../../api/types";
import { CommandLine, CopyButton, Facts, Prose } from "../../components";
import { download } from "../../lib/download";

/** The scenario that was run, the command that repeats it, and where the result comes from. */
export function Scenario({ run }: { run: RunDetails }) {
  const facts: [string, string][] = [
    ["digest of the run", run.digest || "–"],
    ["digest of the world", run.world_digest || "–"],
    ...Object.entries(run.versions ?? {}),
  ];
  return (
    <div className="stack">
      {run.command && (
        <section className="stack">
          <h2>Repeat it</h2>
          <p className="lead">
            <Prose text={run.command_note ?? ""} />
          </p>
          <CommandLine text={run.command} label="Command that repeats the run" />
        </section>
      )}
      <section className="stack">
        <div className="row far">
          <h2>Scenario</h2>
          <span className="row">
            <CopyButton text={run.scenario_text} />
            <button
              type="button"
              onClick={() => download(`${run.scenario}.yaml`, run.scenario_text, "application/yaml")}
            >
              Download
            </button>
          </span>
        </div>
        <pre className="document" tabIndex={0} role="group" aria-label="Scenario as YAML" data-testid="scenario-yaml">
          <code>{run.scenario_text}</code>
        </pre>
      </section>
      <section className="stack">
        <h2>Provenance</h2>
        <Facts pairs={facts} />
      </section>
    </div>
  );
}

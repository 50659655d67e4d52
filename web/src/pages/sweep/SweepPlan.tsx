import type { SweepDetails } from "../../api/types";
import { CommandLine } from "../../components";

/** What the sweep was told: the scenario and, until the report has it, the command that repeats it. */
export function SweepPlan({ sweep, active }: { sweep: SweepDetails; active: boolean }) {
  if (!sweep.scenario_text && !(active && sweep.command)) return null;
  return (
    <section id="plan" className="sweep-section stack" aria-labelledby="plan-title">
      <h2 id="plan-title">
        <a className="anchor" href="#plan">
          Plan
        </a>
      </h2>
      {active && sweep.command && <CommandLine text={sweep.command} label="Command that repeats the sweep" />}
      {sweep.scenario_text && (
        <details className="fold">
          <summary>Scenario</summary>
          <pre className="document" tabIndex={0} role="region" aria-label="Scenario">
            <code>{sweep.scenario_text}</code>
          </pre>
        </details>
      )}
    </section>
  );
}

/** What the check found: problems with their lines, and the command line that does the same. */
import { CommandLine, Prose } from "../../components";
import type { Checked, LocatedProblem } from "../submission/useValidation";

interface Props {
  problems: LocatedProblem[];
  checked: Checked;
  onJump: (place: { from: number; to: number }) => void;
}

export function Findings({ problems, checked, onJump }: Props) {
  const unchecked = checked.state === "unchecked";
  const stale = checked.state === "checking" || unchecked ? "stale" : "";
  return (
    <>
      {problems.length > 0 && (
        <div className={`box bad ${stale}`} data-testid="problems">
          <h2>{problems.length === 1 ? "1 problem" : `${problems.length} problems`}</h2>
          <ul>
            {problems.map((problem, at) => (
              <li key={at}>
                <Place problem={problem} onJump={onJump} /> <Prose text={problem.message} />
                {problem.hint && (
                  <p className="small">
                    <Prose text={problem.hint} />
                  </p>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
      {checked.command && (
        <div className={stale} data-testid="command">
          <h2>Command line</h2>
          <p className="small">
            {unchecked ? "Of the last check: what you typed since is not in it." : "Does the same in a terminal."}
          </p>
          <CommandLine text={checked.command} label="Equivalent command line" />
        </div>
      )}
    </>
  );
}

function Place({ problem, onJump }: { problem: LocatedProblem; onJump: Props["onJump"] }) {
  const { line, field, from, to, message } = problem;
  if (line && from !== undefined) {
    return (
      <button type="button" className="tiny" onClick={() => onJump({ from, to: to ?? from })}>
        line {line}
      </button>
    );
  }
  return field && !message.includes(field) ? <code>{field}</code> : null;
}

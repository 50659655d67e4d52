/** Seeds and grid of a sweep, and how many runs they make. */
import { useId } from "react";
import type { Problem } from "../../api/types";
import { counted } from "../../lib/format";
import { quotedPath, scalarPaths, type Value } from "../document/values";
import { type Axis, axisProblem, countRuns, countSeeds, splitValues } from "./grid";

interface Props {
  seeds: string;
  axes: Axis[];
  value: Value;
  problems: Problem[];
  onSeeds: (seeds: string) => void;
  onAxes: (axes: Axis[]) => void;
}

export function GridEditor({ seeds, axes, value, problems, onSeeds, onAxes }: Props) {
  const id = useId();
  const keys = scalarPaths(value)
    .filter((path) => path[0] !== "seed" && path[0] !== "chains")
    .map(quotedPath);
  const seedProblem =
    countSeeds(seeds) === undefined ? "give 0:100 (seeds 0 to 99), 1,2,5 or both: 0:10,50" : undefined;
  const change = (at: number, next: Partial<Axis>) =>
    onAxes(axes.map((axis, index) => (index === at ? { ...axis, ...next } : axis)));
  return (
    <section className="sweep-plan" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Seeds and grid</h2>
      <div className="field">
        <label htmlFor={`${id}-seeds`}>Seeds</label>
        <input
          id={`${id}-seeds`}
          type="text"
          value={seeds}
          data-testid="seeds"
          aria-invalid={seedProblem ? true : undefined}
          aria-describedby={`${id}-seeds-help`}
          onChange={(event) => onSeeds(event.target.value)}
        />
        <p id={`${id}-seeds-help`} className={seedProblem ? "problem" : "small"}>
          {seedProblem ??
            "Each seed is one run at every point of the grid. An upper bound of the 95 % quantile takes 59 seeds."}
        </p>
      </div>
      <table className="sweep-axes">
        <caption className="sr">Keys with several values</caption>
        {axes.length > 0 && (
          <thead>
            <tr>
              <th scope="col">key</th>
              <th scope="col">values, separated by commas</th>
              <th scope="col" className="right">
                number
              </th>
              <th scope="col">
                <span className="sr">remove</span>
              </th>
            </tr>
          </thead>
        )}
        <tbody>
          {axes.map((axis, at) => {
            const problem =
              axisProblem(axis, axes) ?? problems.find((each) => each.field === `grid.${axis.key}`)?.message;
            return (
              <tr key={at} data-testid="axis">
                <td>
                  <input
                    type="text"
                    className="mono"
                    list={`${id}-keys`}
                    aria-label={`key ${at + 1}`}
                    placeholder="agents.borrowers.count"
                    value={axis.key}
                    onChange={(event) => change(at, { key: event.target.value })}
                  />
                </td>
                <td>
                  <input
                    type="text"
                    className="mono"
                    aria-label={`values of ${axis.key || `key ${at + 1}`}`}
                    aria-invalid={problem ? true : undefined}
                    placeholder="50, 100, 200"
                    value={axis.values}
                    onChange={(event) => change(at, { values: event.target.value })}
                  />
                  {problem && <p className="problem">{problem}</p>}
                </td>
                <td className="right num">{splitValues(axis.values).length}</td>
                <td>
                  <button
                    type="button"
                    className="tiny"
                    aria-label={`remove ${axis.key || `key ${at + 1}`}`}
                    onClick={() => onAxes(axes.filter((_, index) => index !== at))}
                  >
                    remove
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <datalist id={`${id}-keys`}>
        {keys.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      <div className="row">
        <button type="button" onClick={() => onAxes([...axes, { key: "", values: "" }])} data-testid="add-axis">
          Vary another key
        </button>
        <p className="small">Or press “vary” beside a value of the form.</p>
      </div>
      <p className="sweep-count num" data-testid="run-count" role="status">
        {sum(seeds, axes)}
      </p>
    </section>
  );
}

function sum(seeds: string, axes: Axis[]): string {
  const runs = countRuns(seeds, axes);
  const count = countSeeds(seeds);
  if (runs === undefined || count === undefined) return "The number of runs is known once the seeds can be read.";
  const sizes = axes
    .filter((axis) => axis.key.trim() !== "")
    .map((axis) => Math.max(1, splitValues(axis.values).length));
  const product =
    sizes.length > 0 ? `${counted(count, "seed")} × ${sizes.map((each) => counted(each, "value")).join(" × ")} = ` : "";
  return `${product}${counted(runs, "run")}`;
}

import { useQueries } from "@tanstack/react-query";
import { Link } from "react-router";
import { queries } from "../../api/queries";
import { StatusBadge } from "../../components";
import { shortId } from "../runs/columns";

interface Props {
  runs: string[];
  onChange: (runs: string[]) => void;
}

/** The runs of a comparison in order: the first is the baseline. Each leads back to its page. */
export function ChosenRuns({ runs, onChange }: Props) {
  const known = useQueries({ queries: runs.map((id) => ({ ...queries.run(id), staleTime: 60_000 })) });
  if (runs.length === 0) return null;
  return (
    <ol className="chosen-runs" aria-label="Runs that are compared" data-testid="chosen-runs">
      {runs.map((id, at) => {
        const run = known[at]?.data;
        return (
          <li key={id}>
            {at === 0 && <span className="badge">baseline</span>}
            <Link to={`/runs/${id}`} className="cut" title={id}>
              {run ? `${run.scenario} · seed ${run.seed} · ${run.world}` : id}{" "}
              <span className="mono muted">{shortId(id)}</span>
            </Link>
            {run && run.status !== "finished" && <StatusBadge status={run.status} />}
            {known[at]?.isError && <span className="badge bad">not found</span>}
            {at > 0 && (
              <button
                type="button"
                className="tiny"
                onClick={() => onChange([id, ...runs.filter((each) => each !== id)])}
                aria-label={`make baseline: ${id}`}
              >
                make baseline
              </button>
            )}
            <button
              type="button"
              className="tiny"
              onClick={() => onChange(runs.filter((each) => each !== id))}
              aria-label={`remove ${id}`}
            >
              remove
            </button>
          </li>
        );
      })}
    </ol>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../api/queries";
import { ErrorState, StatusBadge, Time } from "../../components";
import { SearchField } from "../../components/SearchField";
import { counted } from "../../lib/format";
import { shortId } from "../runs/columns";

interface Props {
  chosen: string[];
  most: number;
  open: boolean;
  onAdd: (id: string) => void;
}

/** Find runs by id or scenario and add them to the comparison. */
export function RunPicker({ chosen, most, open, onAdd }: Props) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(open);
  const runs = useQuery({
    ...queries.runs({ search: search || undefined, status: ["finished", "halted"], limit: 30 }),
    enabled: shown || open,
  });
  const found = runs.data?.items.filter((run) => !chosen.includes(run.run_id)) ?? [];
  const full = chosen.length >= most;
  return (
    <details
      className="picker"
      open={open || shown}
      onToggle={(event) => setShown(event.currentTarget.open)}
      data-testid="run-picker"
    >
      <summary>Add a run</summary>
      <SearchField
        label="Search runs to compare"
        placeholder="Search id or scenario  /"
        value={search}
        onChange={setSearch}
      />
      {full && <p className="small">A comparison holds {most} runs at most: remove one first.</p>}
      {runs.error && !runs.data ? (
        <ErrorState error={runs.error} />
      ) : runs.data && found.length === 0 ? (
        <p className="state">
          {search ? `No other finished run matches “${search}”.` : "There is no other finished run."}
        </p>
      ) : (
        <ul aria-label="Runs to add">
          {found.map((run) => (
            <li key={run.run_id}>
              <button type="button" disabled={full} onClick={() => onAdd(run.run_id)} aria-label={`add ${run.run_id}`}>
                Add
              </button>
              <span className="cut grow">
                {run.scenario} <span className="mono muted">{shortId(run.run_id)}</span>
              </span>
              <span className="small nowrap">
                seed {run.seed} · {run.world} · {counted(run.steps, "step")}
              </span>
              {run.status !== "finished" && <StatusBadge status={run.status} />}
              <span className="small nowrap picker-time">
                <Time at={run.submitted_at ?? run.started_at} relative />
              </span>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

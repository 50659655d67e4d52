import { useCallback, useEffect, useState } from "react";
import { useNavigate } from "react-router";
import type { SweepDetails } from "../../api/types";
import { DataTable, ErrorState, Loading } from "../../components";
import { counted } from "../../lib/format";
import { MOST_COMPARED, RUN_COLUMNS, RUN_UNDER } from "../runs/columns";
import "../runs/runs.css";
import { useRuns } from "../runs/use-runs";

const COLUMNS = RUN_COLUMNS.filter((column) => column.id !== "owner" && column.id !== "chain");
type SortKey = "submitted_at" | "scenario" | "seed" | "status" | "seconds" | "actions" | "bad_debt";

/** The runs of a sweep; chosen ones are compared. */
export function SweepRuns({ sweep }: { sweep: SweepDetails }) {
  const [visible, setVisible] = useState({ first: 0, last: 0 });
  const [sort, setSort] = useState<{ column: string; descending: boolean }>({
    column: "submitted_at",
    descending: true,
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const navigate = useNavigate();
  const runs = useRuns(
    { sweep_id: sweep.sweep_id, sort: sort.column as SortKey, order: sort.descending ? "desc" : "asc" },
    visible.last,
  );
  const { rows, loadMore } = runs;
  useEffect(() => {
    if (runs.changed && visible.first === 0 && !runs.isStale) runs.renew();
  });
  const seen = useCallback(
    (first: number, last: number) => {
      setVisible((known) => (known.first === first && known.last === last ? known : { first, last }));
      if (last > rows.length - 60) loadMore();
    },
    [rows.length, loadMore],
  );
  const compare = `/compare?${[...chosen].map((id) => `run=${encodeURIComponent(id)}`).join("&")}`;
  return (
    <section id="runs" className="sweep-section" aria-labelledby="runs-title">
      <h2 id="runs-title">
        <a className="anchor" href="#runs">
          Runs
        </a>
      </h2>
      <div className="list-line">
        <span className="muted num">{runs.isPending ? "" : counted(runs.total, "run")}</span>
        {chosen.size > 0 && (
          <span className="row">
            <strong className="num">{chosen.size} selected</strong>
            <button
              type="button"
              className="primary"
              disabled={chosen.size < 2 || chosen.size > MOST_COMPARED}
              onClick={() => void navigate(compare)}
            >
              Compare
            </button>
            <button type="button" className="quiet" onClick={() => setChosen(new Set())}>
              Clear
            </button>
          </span>
        )}
      </div>
      {runs.error && rows.length === 0 ? (
        <ErrorState error={runs.error} onRetry={runs.renew} />
      ) : runs.isPending ? (
        <Loading what="Loading runs …" />
      ) : rows.length === 0 ? (
        <p className="state">Runs appear here as they end.</p>
      ) : (
        <DataTable
          label="Runs of the sweep"
          testId="sweep-runs"
          rows={rows}
          columns={COLUMNS}
          rowId={(run) => run.run_id}
          href={(run) => `/runs/${run.run_id}`}
          sort={sort}
          onSort={setSort}
          selection={chosen}
          onSelection={setChosen}
          total={runs.total}
          under={RUN_UNDER}
          onRange={seen}
          around={420}
          shortcuts
        />
      )}
    </section>
  );
}

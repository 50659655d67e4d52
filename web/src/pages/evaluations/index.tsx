/** `/evaluations` and `/evaluations/ID`: policies against baselines, and the report of one evaluation. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { queries } from "../../api/queries";
import type { EvaluationSummary } from "../../api/types";
import { Badge, CommandLine, type DataColumn, Time } from "../../components";
import { ListPage } from "../../components/ListPage";
import { ResultPage } from "../../components/ResultPage";
import { count, DASH } from "../../lib/format";
import { useTitle } from "../../shell/useTitle";
import "../runs/runs.css";

export function Component() {
  const { evaluationId } = useParams();
  return evaluationId ? <EvaluationPage id={evaluationId} /> : <EvaluationList />;
}

/** Tone of a verdict: what the whole interval says, and nothing where it says nothing. */
function tone(verdict: string | null | undefined): string {
  const word = (verdict ?? "").toLowerCase();
  if (/better|pass/.test(word)) return "good";
  if (/worse|fail/.test(word)) return "bad";
  return /indistinguishable|indeterminate|saturated/.test(word) ? "warn" : "plain";
}

function EvaluationList() {
  useTitle("Evaluations");
  return (
    <ListPage
      title="Evaluations"
      one="evaluation"
      query={useQuery({ ...queries.evaluations(), refetchInterval: 10_000 })}
      columns={COLUMNS}
      rowId={(row) => row.evaluation_id}
      href={(row) => `/evaluations/${encodeURIComponent(row.evaluation_id)}`}
      empty={
        <>
          <p>
            An evaluation plays a trained policy and its baselines on the same unseen episodes, and says whether it is
            better.
          </p>
          <CommandLine
            text="mayavi eval latest --against repay_all,hold_band"
            label="Command that evaluates the newest training"
          />
        </>
      }
    />
  );
}

function EvaluationPage({ id }: { id: string }) {
  const page = useQuery(queries.evaluationPage(id));
  const list = useQuery({ ...queries.evaluations(), staleTime: 60_000 });
  const training = list.data?.items.find((each) => each.evaluation_id === id)?.training_id;
  useTitle("Evaluation");
  return (
    <ResultPage list={{ to: "/evaluations", title: "Evaluations" }} kind="Evaluation" id={id} page={page}>
      {training && (
        <Link className="button quiet" to={`/trainings/${encodeURIComponent(training)}`}>
          Open its training
        </Link>
      )}
    </ResultPage>
  );
}

const COLUMNS: DataColumn<EvaluationSummary>[] = [
  {
    id: "models",
    header: "Evaluation",
    value: (row) => row.models.join(", ") || row.evaluation_id,
    render: (row) => (
      <>
        {row.models.join(", ") || (row.env ? "baselines" : "unreadable")}{" "}
        <span className="mono muted">{row.evaluation_id}</span>
      </>
    ),
    width: "minmax(160px, 4fr)",
  },
  {
    id: "verdict",
    header: "Verdict",
    value: (row) => row.verdict,
    render: (row) =>
      row.verdict ? <Badge tone={tone(row.verdict)}>{row.verdict}</Badge> : <span className="muted">–</span>,
    width: "minmax(128px, 1fr)",
  },
  {
    id: "against",
    header: "Against",
    value: (row) => row.against.join(", "),
    render: (row) => <span title={row.against.join("\n")}>{row.against.join(", ") || DASH}</span>,
    width: "minmax(120px, 2fr)",
    wraps: true,
    hideBelow: 760,
  },
  { id: "env", header: "Environment", value: (row) => row.env, width: "minmax(96px, 1fr)", hideBelow: 620 },
  {
    id: "episodes",
    header: "Episodes",
    value: (row) => row.episodes,
    render: (row) => count(row.episodes),
    align: "right",
    width: "88px",
    hideBelow: 560,
  },
  {
    id: "written_at",
    header: "Written",
    value: (row) => row.written_at,
    render: (row) => <Time at={row.written_at} relative />,
    align: "right",
    width: "104px",
    hideBelow: 480,
  },
];

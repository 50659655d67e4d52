/** `/trainings` and `/trainings/ID`: trained policies, and the report of one. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { queries } from "../../api/queries";
import type { TrainingSummary } from "../../api/types";
import { Badge, CommandLine, type DataColumn, Time } from "../../components";
import { ListPage } from "../../components/ListPage";
import { ResultPage } from "../../components/ResultPage";
import { count, duration, formatCell } from "../../lib/format";
import { useTitle } from "../../shell/useTitle";
import "../runs/runs.css";

export function Component() {
  const { trainingId } = useParams();
  return trainingId ? <TrainingPage id={trainingId} /> : <TrainingList />;
}

const TONES: Record<string, string> = {
  finished: "good",
  running: "accent",
  failed: "bad",
  stopped: "warn",
  interrupted: "warn",
};

function TrainingList() {
  useTitle("Trainings");
  return (
    <ListPage
      title="Trainings"
      one="training"
      query={useQuery({ ...queries.trainings(), refetchInterval: 10_000 })}
      columns={COLUMNS}
      rowId={(row) => row.training_id}
      href={(row) => `/trainings/${encodeURIComponent(row.training_id)}`}
      empty={
        <>
          <p>
            Policies are trained on the command line, in the service's folder of models, and appear here by themselves.
            This command takes half a minute of one core:
          </p>
          <CommandLine
            text="mayavi train --env aave --framework sb3 --timesteps 24576"
            label="Command that trains a policy"
          />
        </>
      }
    />
  );
}

function TrainingPage({ id }: { id: string }) {
  const training = useQuery(queries.training(id));
  const page = useQuery({ ...queries.trainingPage(id), enabled: training.isSuccess });
  useTitle(training.data?.env ? `Training of ${training.data.env}` : "Training");
  const problem = training.data?.problem;
  return (
    <ResultPage
      list={{ to: "/trainings", title: "Trainings" }}
      kind="Training"
      id={id}
      page={page}
      error={training.error}
      problem={
        problem && (
          <div className="box warn">
            <p>{problem}</p>
          </div>
        )
      }
    >
      {training.data && <Badge tone={TONES[training.data.status] ?? "plain"}>{training.data.status}</Badge>}
    </ResultPage>
  );
}

const COLUMNS: DataColumn<TrainingSummary>[] = [
  {
    id: "env",
    header: "Training",
    value: (row) => row.env,
    render: (row) => (
      <>
        {row.env ?? "unreadable"} <span className="mono muted">{row.training_id}</span>
      </>
    ),
    width: "minmax(160px, 4fr)",
  },
  {
    id: "status",
    header: "Status",
    value: (row) => row.status,
    render: (row) => (
      <span title={row.problem ?? undefined}>
        <Badge tone={TONES[row.status] ?? "plain"}>{row.status}</Badge>
      </span>
    ),
    width: "104px",
  },
  {
    id: "algorithm",
    header: "Algorithm",
    value: (row) => [row.framework, row.algorithm].filter(Boolean).join(" "),
    width: "minmax(88px, 1fr)",
    hideBelow: 620,
  },
  { id: "seed", header: "Seed", value: (row) => row.seed, align: "right", width: "72px", hideBelow: 820 },
  {
    id: "steps",
    header: "Steps",
    value: (row) => row.steps,
    render: (row) =>
      row.timesteps && row.steps !== row.timesteps
        ? `${count(row.steps)} of ${count(row.timesteps)}`
        : count(row.steps),
    align: "right",
    width: "minmax(96px, 1fr)",
    hideBelow: 760,
  },
  {
    id: "mean_reward",
    header: "Mean reward",
    value: (row) => row.mean_reward,
    render: (row) =>
      row.mean_reward == null ? (
        <span className="muted">–</span>
      ) : (
        <span title={String(row.mean_reward)}>
          {formatCell(row.mean_reward, "short")} <span className="muted">{row.reward_of}</span>
        </span>
      ),
    align: "right",
    width: "minmax(136px, 1fr)",
    hideBelow: 520,
  },
  {
    id: "seconds",
    header: "Duration",
    value: (row) => row.seconds,
    render: (row) => duration(row.seconds),
    align: "right",
    width: "104px",
    hideBelow: 1000,
  },
  {
    id: "started_at",
    header: "Started",
    value: (row) => row.started_at,
    render: (row) => <Time at={row.started_at} relative />,
    align: "right",
    width: "96px",
    hideBelow: 900,
  },
];

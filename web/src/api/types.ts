/** Bodies of the service by short names; `schema.d.ts` is generated from `openapi.json` by `npm run types`. */
import type { components, operations } from "./schema";

type Schemas = components["schemas"];

export type ErrorBody = Schemas["Error"];
export type Problem = Schemas["Problem"];
export type Session = Schemas["Session"];
export type KeySummary = Schemas["KeySummary"];
export type KeyCreation = Schemas["KeyCreation"];
export type CreatedKey = Schemas["CreatedKey"];
export type RunSummary = Schemas["RunSummary"];
export type RunDetails = Schemas["RunDetails"];
export type RunSubmission = Schemas["RunSubmission"];
export type RunStatus = RunSummary["status"];
export type Progress = Schemas["Progress"];
export type StepAction = Schemas["StepAction"];
export type StepDetails = Schemas["StepDetails"];
export type AgentSummary = Schemas["AgentSummary"];
export type Explanation = Schemas["Explanation"];
export type ExplainedEvent = Schemas["ExplainedEvent"];
export type RowsPage = Schemas["RowsPage"];
export type SweepSummary = Schemas["SweepSummary"];
export type SweepDetails = Schemas["SweepDetails"];
export type SweepSubmission = Schemas["SweepSubmission"];
export type TrainingSummary = Schemas["TrainingSummary"];
export type EvaluationSummary = Schemas["EvaluationSummary"];
export type ScenarioSummary = Schemas["ScenarioSummary"];
export type ScenarioDetails = Schemas["ScenarioDetails"];
export type Validation = Schemas["Validation"];
export type Validated = Schemas["Validated"];
export type WorldSummary = Schemas["WorldSummary"];

export type PageData = Schemas["PageData"];
export type PageTile = Schemas["PageTile"];
export type PageSection = Schemas["PageSection"];
export type PageBlock = PageSection["blocks"][number];
export type TableBlock = Schemas["TableBlock"];
export type ChartBlock = Schemas["ChartBlock"];
export type ScrubberBlock = Schemas["ScrubberBlock"];
export type Cell = TableBlock["data"][number][number];

export type RunFilter = NonNullable<operations["list_runs"]["parameters"]["query"]>;
export type ActionFilter = NonNullable<operations["run_actions"]["parameters"]["query"]>;
export type RowsFilter = NonNullable<operations["run_rows"]["parameters"]["query"]>;
export type TableName = operations["run_rows"]["parameters"]["path"]["table"];

/** One server-sent event of a job. */
export interface JobEvent {
  id: number;
  at: string;
  kind: "queued" | "started" | "progress" | "retried" | "finished" | "failed" | "cancelled";
  progress: Progress | null;
  message: string;
}

/** Whether a run or sweep can still change. */
export function isActive(status: RunStatus): boolean {
  return status === "queued" || status === "running" || status === "cancelling";
}

/** Every reading request as options of `useQuery`: `useQuery(queries.run(id))`. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, keepSession, read } from "./client";
import type { ActionFilter, Explanation, PageData, RowsFilter, RunFilter, TableName } from "./types";

export const queries = {
  session: () =>
    queryOptions({
      queryKey: ["session"],
      queryFn: async ({ signal }) => {
        const session = await read(api.GET("/session", { signal }));
        keepSession(session);
        return session;
      },
      staleTime: Number.POSITIVE_INFINITY,
    }),
  health: () => queryOptions({ queryKey: ["health"], queryFn: ({ signal }) => read(api.GET("/healthz", { signal })) }),

  runs: (filter: RunFilter) =>
    queryOptions({
      queryKey: ["runs", filter],
      queryFn: ({ signal }) => read(api.GET("/runs", { params: { query: filter }, signal })),
      placeholderData: keepPreviousData,
    }),
  run: (run_id: string) =>
    queryOptions({
      queryKey: ["run", run_id],
      queryFn: ({ signal }) => read(api.GET("/runs/{run_id}", { params: { path: { run_id } }, signal })),
    }),
  runPage: (run_id: string) =>
    queryOptions({
      queryKey: ["run", run_id, "page"],
      queryFn: ({ signal }) => read<PageData>(api.GET("/runs/{run_id}/page", { params: { path: { run_id } }, signal })),
      staleTime: Number.POSITIVE_INFINITY, // a run that has ended does not change
    }),
  actions: (run_id: string, filter: ActionFilter) =>
    queryOptions({
      queryKey: ["run", run_id, "actions", filter],
      queryFn: ({ signal }) =>
        read(api.GET("/runs/{run_id}/actions", { params: { path: { run_id }, query: filter }, signal })),
    }),
  rows: (run_id: string, table: TableName, filter: RowsFilter) =>
    queryOptions({
      queryKey: ["run", run_id, "rows", table, filter],
      queryFn: ({ signal }) =>
        read(api.GET("/runs/{run_id}/rows/{table}", { params: { path: { run_id, table }, query: filter }, signal })),
    }),
  agents: (run_id: string) =>
    queryOptions({
      queryKey: ["run", run_id, "agents"],
      queryFn: ({ signal }) => read(api.GET("/runs/{run_id}/agents", { params: { path: { run_id } }, signal })),
    }),
  explanation: (run_id: string, agent: string) =>
    queryOptions({
      queryKey: ["run", run_id, "explain", agent],
      queryFn: ({ signal }) =>
        read<Explanation>(
          api.GET("/runs/{run_id}/explain", { params: { path: { run_id }, query: { agent } }, signal }),
        ),
    }),
  step: (run_id: string, step: number) =>
    queryOptions({
      queryKey: ["run", run_id, "step", step],
      queryFn: ({ signal }) =>
        read(api.GET("/runs/{run_id}/steps/{step}", { params: { path: { run_id, step } }, signal })),
      placeholderData: keepPreviousData,
    }),
  comparison: (run: string[]) =>
    queryOptions({
      queryKey: ["compare", run],
      queryFn: ({ signal }) => read<PageData>(api.GET("/compare", { params: { query: { run } }, signal })),
    }),

  sweeps: (filter: { limit?: number; cursor?: string } = {}) =>
    queryOptions({
      queryKey: ["sweeps", filter],
      queryFn: ({ signal }) => read(api.GET("/sweeps", { params: { query: filter }, signal })),
      placeholderData: keepPreviousData,
    }),
  sweep: (sweep_id: string) =>
    queryOptions({
      queryKey: ["sweep", sweep_id],
      queryFn: ({ signal }) => read(api.GET("/sweeps/{sweep_id}", { params: { path: { sweep_id } }, signal })),
    }),
  sweepPage: (sweep_id: string) =>
    queryOptions({
      queryKey: ["sweep", sweep_id, "page"],
      queryFn: ({ signal }) =>
        read<PageData>(api.GET("/sweeps/{sweep_id}/page", { params: { path: { sweep_id } }, signal })),
    }),

  trainings: () =>
    queryOptions({ queryKey: ["trainings"], queryFn: ({ signal }) => read(api.GET("/trainings", { signal })) }),
  training: (training_id: string) =>
    queryOptions({
      queryKey: ["training", training_id],
      queryFn: ({ signal }) => read(api.GET("/trainings/{training_id}", { params: { path: { training_id } }, signal })),
    }),
  trainingPage: (training_id: string) =>
    queryOptions({
      queryKey: ["training", training_id, "page"],
      queryFn: ({ signal }) =>
        read<PageData>(api.GET("/trainings/{training_id}/page", { params: { path: { training_id } }, signal })),
    }),
  evaluations: () =>
    queryOptions({ queryKey: ["evaluations"], queryFn: ({ signal }) => read(api.GET("/evaluations", { signal })) }),
  evaluationPage: (evaluation_id: string) =>
    queryOptions({
      queryKey: ["evaluation", evaluation_id, "page"],
      queryFn: ({ signal }) =>
        read<PageData>(api.GET("/evaluations/{evaluation_id}/page", { params: { path: { evaluation_id } }, signal })),
    }),

  scenarios: () =>
    queryOptions({ queryKey: ["scenarios"], queryFn: ({ signal }) => read(api.GET("/scenarios", { signal })) }),
  scenario: (name: string) =>
    queryOptions({
      queryKey: ["scenario", name],
      queryFn: ({ signal }) => read(api.GET("/scenarios/{name}", { params: { path: { name } }, signal })),
    }),
  scenarioSchema: (name: string) =>
    queryOptions({
      queryKey: ["scenario", name, "schema"],
      queryFn: ({ signal }) => read(api.GET("/scenarios/{name}/schema", { params: { path: { name } }, signal })),
    }),
  worlds: () => queryOptions({ queryKey: ["worlds"], queryFn: ({ signal }) => read(api.GET("/worlds", { signal })) }),
  keys: () => queryOptions({ queryKey: ["keys"], queryFn: ({ signal }) => read(api.GET("/keys", { signal })) }),
};

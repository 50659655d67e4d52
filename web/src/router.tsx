/** Addresses of the pages. Each page is a chunk of its own, loaded when it is opened. */
import { createBrowserRouter, Navigate, type RouteObject } from "react-router";
import { Layout } from "./shell/Layout";
import { NotFound } from "./shell/NotFound";
import { RouteError } from "./shell/RouteError";
import { SessionGate } from "./shell/session";

const pages: RouteObject[] = [
  { index: true, element: <Navigate to="/runs" replace /> },
  { path: "login", element: <Navigate to="/runs" replace /> },
  { path: "runs", lazy: () => import("./pages/runs") },
  { path: "runs/:runId/*", lazy: () => import("./pages/run") },
  { path: "new", lazy: () => import("./pages/new-run") },
  { path: "sweeps", lazy: () => import("./pages/sweeps") },
  { path: "sweeps/new", lazy: () => import("./pages/new-sweep") },
  { path: "sweeps/:sweepId", lazy: () => import("./pages/sweep") },
  { path: "compare", lazy: () => import("./pages/compare") },
  { path: "trainings/:trainingId?", lazy: () => import("./pages/trainings") },
  { path: "evaluations/:evaluationId?", lazy: () => import("./pages/evaluations") },
  { path: "scenarios/:name?", lazy: () => import("./pages/scenarios") },
  { path: "worlds", lazy: () => import("./pages/worlds") },
  { path: "keys", lazy: () => import("./pages/keys") },
  { path: "*", element: <NotFound /> },
];

export const router = createBrowserRouter(
  [
    {
      element: (
        <SessionGate>
          <Layout />
        </SessionGate>
      ),
      errorElement: <RouteError />,
      hydrateFallbackElement: <p className="loading">Loading …</p>,
      children: pages,
    },
  ],
  { basename: "/app" },
);

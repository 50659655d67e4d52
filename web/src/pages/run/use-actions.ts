/** Actions by their place in the filtered log: pages around what is visible, kept in the query cache. */
import { useQueries } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { queries } from "../../api/queries";
import type { ActionFilter, StepAction } from "../../api/types";

const PAGE = 200;
const PAUSE_MS = 60;

export interface ActionLog {
  total: number;
  at: (place: number) => StepAction | undefined;
  /** Actions that are loaded now. */
  loaded: StepAction[];
  isPending: boolean;
  error: unknown;
  onRange: (first: number, last: number) => void;
}

export function useActions(runId: string, filter: ActionFilter): ActionLog {
  const [pages, setPages] = useState<number[]>([0]);
  const timer = useRef(0);
  const key = JSON.stringify(filter);
  const seen = useRef(key);
  const [total, setTotal] = useState(0);
  if (seen.current !== key) {
    seen.current = key;
    if (pages.length !== 1 || pages[0] !== 0) setPages([0]);
  }
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const asked = useQueries({
    queries: pages.map((page) => ({
      ...queries.actions(runId, { ...filter, limit: PAGE, offset: page * PAGE }),
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 120_000,
    })),
  });
  const known = new Map(asked.map((query, at) => [pages[at], query.data?.items]));
  const told = asked.find((query) => query.data)?.data?.total;
  useEffect(() => {
    if (told !== undefined) setTotal(told);
  }, [told]);

  // While the list is being dragged only what it rests on is read.
  const onRange = useRef((first: number, last: number) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      const from = Math.floor(first / PAGE);
      const to = Math.floor(last / PAGE);
      const wanted = Array.from({ length: to - from + 1 }, (_, at) => from + at);
      setPages((had) => (had.join() === wanted.join() ? had : wanted));
    }, PAUSE_MS);
  });
  return {
    total: told ?? total,
    at: (place) => known.get(Math.floor(place / PAGE))?.[place % PAGE],
    loaded: asked.flatMap((query) => query.data?.items ?? []),
    isPending: told === undefined && asked.some((query) => query.isPending),
    error: asked.find((query) => query.error)?.error ?? null,
    onRange: onRange.current,
  };
}

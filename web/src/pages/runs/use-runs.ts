/** The list of runs: pages as they are scrolled to, and the newest state of the first ones. */
import { keepPreviousData, useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { api, read } from "../../api/client";
import { queries } from "../../api/queries";
import { isActive, type RunFilter, type RunSummary } from "../../api/types";

const FIRST = 200;
const NEXT = 1000;
const MOST_FOLLOWED = 20;

export interface Runs {
  rows: RunSummary[];
  total: number;
  isPending: boolean;
  isStale: boolean;
  error: unknown;
  /** Whether runs came or went that the rows do not show. */
  changed: boolean;
  loadMore: () => void;
  isLoadingMore: boolean;
  hasMore: boolean;
  /** Show what the service has now, from the top. */
  renew: () => void;
}

function ids(rows: RunSummary[]): string {
  return rows.map((row) => row.run_id).join(" ");
}

/** Read the runs of a filter. The first rows, and active ones among the visible, are kept up to date. */
export function useRuns(filter: RunFilter, lastVisible: number, firstVisible = 0): Runs {
  const client = useQueryClient();
  const pagesKey = ["runs", "pages", filter];
  const ask = (limit: number, cursor: string | undefined, signal: AbortSignal) =>
    read(api.GET("/runs", { params: { query: { ...filter, limit, cursor } }, signal }));
  const pages = useInfiniteQuery({
    queryKey: pagesKey,
    queryFn: ({ pageParam, signal }) => ask(pageParam ? NEXT : FIRST, pageParam, signal),
    structuralSharing: false, // comparing all pages takes long, and rows are compared by id anyway
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const loaded = useMemo(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data]);
  const live = useQuery({
    queryKey: ["runs", "live", filter],
    queryFn: ({ signal }) => ask(FIRST, undefined, signal),
    enabled: pages.isSuccess && !pages.isPlaceholderData,
    refetchInterval: (query) => (query.state.data?.items.some((run) => isActive(run.status)) ? 1_000 : 4_000),
    staleTime: 0,
  });
  const newest = live.data;
  const deep = loaded
    .slice(Math.max(FIRST, firstVisible), lastVisible + 1)
    .filter((run) => isActive(run.status))
    .slice(0, MOST_FOLLOWED);
  const followed = useQueries({
    queries: deep.map((run) => ({ ...queries.run(run.run_id), refetchInterval: 2_000 })),
    combine: (answers) => answers.flatMap((answer) => answer.data ?? []),
  });
  const rows = useMemo(() => {
    if (!newest && followed.length === 0) return loaded;
    const known = new Map<string, RunSummary>();
    for (const run of followed) known.set(run.run_id, run);
    for (const run of newest?.items ?? []) known.set(run.run_id, run);
    return loaded.map((run) => known.get(run.run_id) ?? run);
  }, [loaded, newest, followed]);
  const total = pages.data?.pages.at(-1)?.total ?? 0;
  const changed = Boolean(
    newest &&
      pages.data &&
      ids(newest.items) !== ids(loaded.slice(0, Math.max(newest.items.length, Math.min(loaded.length, FIRST)))),
  );
  const renew = () => {
    if (newest) client.setQueryData(pagesKey, { pages: [newest], pageParams: [undefined] });
    else void client.resetQueries({ queryKey: pagesKey });
  };
  const loadMore = useCallback(() => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  }, [pages.hasNextPage, pages.isFetchingNextPage, pages.fetchNextPage]);
  return {
    rows,
    total: newest?.total ?? total,
    isPending: pages.isPending,
    isStale: pages.isPlaceholderData,
    error: pages.error,
    changed,
    loadMore,
    isLoadingMore: pages.isFetchingNextPage,
    hasMore: pages.hasNextPage,
    renew,
  };
}

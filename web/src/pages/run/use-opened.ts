/** The action whose details are shown: named in the address, so that a link leads to it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../api/queries";
import type { StepAction } from "../../api/types";
import { useUrlState } from "../../lib/url-state";

const MOST = 5_000;

/** The action in an address: its step, which the service can look for, and its row. */
export function linkOf({ step, seq }: StepAction): string {
  return `${step}.${seq}`;
}

/** Return the opened action and a function that opens another, or none. */
export function useOpened(
  runId: string,
  loaded: StepAction[],
): [StepAction | null, (action: StepAction | null) => void] {
  const [params, change] = useUrlState();
  const [clicked, setClicked] = useState<StepAction | null>(null);
  const [, step, seq] = /^(-?\d+)\.(\d+)$/.exec(params.get("action") ?? "") ?? [];
  const wanted = seq === undefined ? null : Number(seq);
  const known = [clicked, ...loaded].find((each) => each?.seq === wanted) ?? null;
  const asked = useQuery({
    ...queries.actions(runId, { step: Number(step), limit: MOST }),
    enabled: wanted !== null && known === null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const found = known ?? asked.data?.items.find((each) => each.seq === wanted) ?? null;
  function open(action: StepAction | null) {
    setClicked(action);
    change({ action: action && linkOf(action) });
  }
  return [wanted === null ? null : found, open];
}

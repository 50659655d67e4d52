/** State of a page in its address, so that it can be linked to and survives a reload. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

type Value = string | null | undefined | false;

/**
 * Return the parameters of the address and a function that changes some of them. Empty values leave the address.
 * A change replaces the entry of the history unless `push` is set: typing into a filter is not a step back.
 */
export function useUrlState(): [URLSearchParams, (change: Record<string, Value>, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (wanted: Record<string, Value>, push = false) => {
      setParams(
        (known) => {
          const next = new URLSearchParams(known);
          for (const [name, value] of Object.entries(wanted)) {
            if (value) next.set(name, value);
            else next.delete(name);
          }
          return next;
        },
        { replace: !push, preventScrollReset: true },
      );
    },
    [setParams],
  );
  return [params, change];
}

/** Whether the service answers: set by every request, read by the banner. */
import { useSyncExternalStore } from "react";

let reachable = true;
const listeners = new Set<() => void>();

export function setReachable(next: boolean): void {
  if (next === reachable) return;
  reachable = next;
  for (const each of listeners) each();
}

export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}

/** Follow the server-sent events of a run or sweep. */
import { useEffect, useRef, useState } from "react";
import { queries } from "./queries";
import { queryClient } from "./query-client";
import type { JobEvent } from "./types";

const KINDS = ["message", "queued", "started", "progress", "retried", "finished", "failed", "cancelled"] as const;
const ENDED = new Set(["finished", "failed", "cancelled"]);

/**
 * Return the latest event of `/runs/{id}/events` or `/sweeps/{id}/events`; `path` null follows nothing.
 *
 * `onState` is called when the job is queued, starts, starts again or ends. The browser reconnects by itself after a break and names the last event it has seen. A refused connection is final for
 * it: then the session is checked, which asks for a log-in if it has expired, and the stream is opened again.
 */
export function useJobEvents(path: string | null, onState?: () => void): JobEvent | null {
  const [latest, setLatest] = useState<JobEvent | null>(null);
  const changed = useRef(onState);
  changed.current = onState;
  useEffect(() => {
    setLatest(null);
    if (!path) return;
    let source: EventSource | null = null;
    let timer = 0;
    let closed = false;
    const open = () => {
      source = new EventSource(path);
      const receive = (event: MessageEvent<string>) => {
        const told = JSON.parse(event.data) as JobEvent;
        setLatest((known) => (known && known.id > told.id ? known : told));
        if (ENDED.has(told.kind)) {
          closed = true;
          source?.close();
        }
        if (told.kind !== "progress") changed.current?.();
      };
      for (const kind of KINDS) source.addEventListener(kind, receive);
      source.onerror = () => {
        if (closed || source?.readyState !== EventSource.CLOSED) return;
        timer = window.setTimeout(async () => {
          try {
            await queryClient.fetchQuery({ ...queries.health(), staleTime: 0 });
          } catch {
            // the banner says that the service does not answer
          }
          if (!closed) open();
        }, 2_000);
      };
    };
    open();
    return () => {
      closed = true;
      window.clearTimeout(timer);
      source?.close();
    };
  }, [path]);
  return latest;
}

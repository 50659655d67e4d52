import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { setReachable, useReachable } from "../api/connection";
import { toast } from "../components/Toast";

/** Say that the service does not answer, ask it every two seconds, and read everything again once it does. */
export function Banner() {
  const reachable = useReachable();
  const client = useQueryClient();
  const lost = useRef(false);
  useEffect(() => {
    if (reachable) {
      if (lost.current) {
        toast("The service is back", "good");
        void client.invalidateQueries();
      }
      lost.current = false;
      return;
    }
    lost.current = true;
    const timer = window.setInterval(() => {
      fetch("/healthz").then(
        (response) => setReachable(response.ok),
        () => undefined,
      );
    }, 2_000);
    return () => window.clearInterval(timer);
  }, [reachable, client]);
  return (
    <div role="status" aria-live="polite">
      {!reachable && (
        <p className="banner" data-testid="offline">
          <strong>The service does not answer.</strong> Trying again every two seconds. What you see may be old; what
          you typed stays.
        </p>
      )}
    </div>
  );
}

/** The session: a log-in page without one, and a dialog in place when it ends. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { onExpiredSession } from "../api/client";
import { ApiFailure } from "../api/failure";
import { queries } from "../api/queries";
import type { Session } from "../api/types";
import { ErrorState, Loading } from "../components/states";
import { LoginPage } from "../pages/login";
import { LoginForm } from "./LoginForm";

const Current = createContext<Session | null>(null);

/** Return the session; only pages below `SessionGate` may ask. */
export function useSession(): Session {
  const session = useContext(Current);
  if (!session) throw new Error("useSession outside of SessionGate");
  return session;
}

/** Whether the key of the session may change anything. */
export function useMayWrite(): boolean {
  return useSession().key.scope === "full";
}

export function SessionGate({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const session = useQuery(queries.session());
  const keep = (opened: Session) => client.setQueryData(queries.session().queryKey, opened);
  if (session.data)
    return (
      <Current.Provider value={session.data}>
        {children}
        <ExpiredDialog onDone={keep} />
      </Current.Provider>
    );
  if (session.error instanceof ApiFailure && session.error.status === 401) return <LoginPage onDone={keep} />;
  if (session.error) return <ErrorState error={session.error} onRetry={() => void session.refetch()} />;
  return (
    <div className="login">
      <Loading what={session.failureCount > 0 ? "The service does not answer. Trying again …" : "Connecting …"} />
    </div>
  );
}

/** Log in again over the page, which stays as it is; requests that met the end of the session then continue. */
function ExpiredDialog({ onDone }: { onDone: (session: Session) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const resume = useRef<(() => void) | null>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    onExpiredSession(
      () =>
        new Promise<void>((resolve) => {
          resume.current = resolve;
          setOpen(true);
        }),
    );
    return () => onExpiredSession(null);
  }, []);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="expired-title"
      onCancel={(event) => event.preventDefault()}
      data-testid="expired"
    >
      <h2 id="expired-title">Your session has ended</h2>
      <p className="lead">Log in again to go on. The page below stays as it is, and nothing you typed is lost.</p>
      <br />
      {open && (
        <LoginForm
          submit="Log in and go on"
          onDone={(session) => {
            onDone(session);
            setOpen(false);
            resume.current?.();
          }}
        />
      )}
    </dialog>
  );
}

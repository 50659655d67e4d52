import type { Session } from "../../api/types";
import { LoginMessage } from "../../components/LoginMessage";
import { LoginForm } from "../../shell/LoginForm";
import { useTitle } from "../../shell/useTitle";

/** Shown at every address while nobody is logged in; the address stays and opens after the log-in. */
export function LoginPage({ onDone }: { onDone: (session: Session) => void }) {
  useTitle("Log in");
  return (
    <main className="login">
      <div className="login-box" data-testid="login">
        <p className="brand">
          <img src="/app/favicon.svg" width="28" height="28" alt="" /> Mayavi
        </p>
        <h1>Log in</h1>
        <LoginMessage />
        <LoginForm onDone={onDone} />
        <p className="small">
          <code>mayavi keys create NAME</code> on the server makes a key. It is exchanged for a session cookie and not
          kept in the browser.
        </p>
      </div>
    </main>
  );
}

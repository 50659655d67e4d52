import { type FormEvent, useState } from "react";
import { logIn } from "../api/commands";
import { ApiFailure, told } from "../api/failure";
import type { Session } from "../api/types";
import { Prose } from "../components/Prose";
import { sentence } from "../lib/format";

/** The key of a link like `/app/#key=…`, which `mayavi serve --demo` prints. It leaves the address at once. */
const given = new URLSearchParams(window.location.hash.slice(1)).get("key") ?? "";
if (given) window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);

/** Ask for a key and open a session. The key is in the field alone, and leaves it once the session is open. */
export function LoginForm({ onDone, submit = "Log in" }: { onDone: (session: Session) => void; submit?: string }) {
  const [key, setKey] = useState(given);
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  async function send(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const session = await logIn(key.trim());
      setKey("");
      onDone(session);
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void send(event)} className="stack" autoComplete="off">
      <div className="field">
        <label htmlFor="login-key">API key</label>
        <div className="row">
          <input
            id="login-key"
            className="grow mono"
            type={shown ? "text" : "password"}
            value={key}
            onChange={(event) => setKey(event.target.value)}
            placeholder="mvk_…"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            required
            aria-invalid={error instanceof ApiFailure}
            aria-describedby="login-problem"
            // biome-ignore lint/a11y/noAutofocus: the form is all there is
            autoFocus
          />
          <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
            {shown ? "Hide" : "Show"}
          </button>
        </div>
        <p id="login-problem" className="problem" role="alert">
          {error !== null && <LoginProblem error={error} />}
        </p>
      </div>
      <button type="submit" className="primary" disabled={busy || key.trim() === ""}>
        {busy ? "Logging in …" : submit}
      </button>
    </form>
  );
}

function LoginProblem({ error }: { error: unknown }) {
  const { message, hint } = told(error);
  if (error instanceof ApiFailure && error.status === 401)
    return <>This key is not valid: it is mistyped, or it has been revoked. Your input is still there.</>;
  return <Prose text={`${sentence(message)} ${sentence(hint ?? "")}`} />;
}

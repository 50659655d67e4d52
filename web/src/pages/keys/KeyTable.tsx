import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { revokeKey } from "../../api/commands";
import type { KeySummary } from "../../api/types";
import { Badge, ConfirmOnce, Time, toast, toastError } from "../../components";
import { leaveMessage } from "../../components/LoginMessage";
import { count } from "../../lib/format";
import { useSession } from "../../shell/session";

/** All keys: those in use first, revoked ones on demand. */
export function KeyTable({ keys }: { keys: KeySummary[] }) {
  const [all, setAll] = useState(false);
  const valid = keys.filter((key) => !key.revoked_at);
  const revoked = keys.length - valid.length;
  return (
    <section aria-labelledby="keys-title">
      <h2 id="keys-title" className="sr">
        All keys
      </h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Keys">
        <table data-testid="keys">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col" className="wide-only">
                id
              </th>
              <th scope="col">scope</th>
              <th scope="col" className="right wide-only">
                requests<span className="muted">, per minute</span>
              </th>
              <th scope="col" className="right wide-only">
                jobs<span className="muted">, at once</span>
              </th>
              <th scope="col" className="wide-only">
                created
              </th>
              <th scope="col">last used</th>
              <th scope="col">
                <span className="sr">revoke</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {(all ? keys : valid).map((key) => (
              <Row key={key.key_id} entry={key} />
            ))}
          </tbody>
        </table>
      </div>
      {revoked > 0 && (
        <button type="button" className="quiet" onClick={() => setAll(!all)}>
          {all ? "Hide revoked keys" : `Show ${revoked} revoked`}
        </button>
      )}
    </section>
  );
}

function Row({ entry }: { entry: KeySummary }) {
  const session = useSession();
  const own = session.key.key_id === entry.key_id;
  return (
    <tr data-testid={`key-${entry.key_id}`}>
      <th scope="row">
        {entry.name} {own && <Badge tone="accent">you</Badge>} {entry.bootstrap && <Badge>bootstrap</Badge>}
      </th>
      <td className="mono wide-only">{entry.key_id}</td>
      <td>{entry.scope}</td>
      <td className="right wide-only">{count(entry.requests_per_minute)}</td>
      <td className="right wide-only">{count(entry.concurrent_jobs)}</td>
      <td className="wide-only">
        <Time at={entry.created_at} relative />
      </td>
      <td>
        <Time at={entry.last_used_at} relative />
      </td>
      <td>{entry.revoked_at ? <span className="muted">revoked</span> : <Revoke entry={entry} own={own} />}</td>
    </tr>
  );
}

function Revoke({ entry, own }: { entry: KeySummary; own: boolean }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  if (entry.bootstrap) {
    return (
      <button
        type="button"
        disabled
        title="It comes from the variable MAYAVI_API_KEY of the server: remove it there and restart"
      >
        Revoke
      </button>
    );
  }
  async function revoke() {
    setBusy(true);
    try {
      await revokeKey(entry.key_id);
    } catch (error) {
      toastError(error);
      setBusy(false);
      return;
    }
    if (!own) {
      toast(`${entry.name} is revoked; its sessions have ended.`, "good");
      await client.invalidateQueries({ queryKey: ["keys"] });
      return;
    }
    // The session went with the key: show the log-in page, and nothing of what was loaded.
    leaveMessage(`You revoked the key “${entry.name}” that you were logged in with. Log in with another one.`);
    window.location.assign("/app/");
  }
  return (
    <ConfirmOnce
      question={own ? "Revoke it and log out?" : `Really revoke ${entry.name.slice(0, 24)}?`}
      onConfirm={() => void revoke()}
      disabled={busy}
    >
      Revoke
    </ConfirmOnce>
  );
}

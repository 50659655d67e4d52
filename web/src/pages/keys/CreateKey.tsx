import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { createKey } from "../../api/commands";
import { told } from "../../api/failure";
import type { CreatedKey, KeyCreation } from "../../api/types";
import { CopyButton } from "../../components";

/** Create a key; its secret is shown once. */
export function CreateKey() {
  const id = useId();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [scope, setScope] = useState<KeyCreation["scope"]>("read");
  const [requests, setRequests] = useState("");
  const [jobs, setJobs] = useState("");
  const create = useMutation({
    mutationFn: () =>
      createKey({
        name: name.trim(),
        scope,
        requests_per_minute: requests ? Number(requests) : null,
        concurrent_jobs: jobs ? Number(jobs) : null,
      }),
    onSuccess: () => {
      setName("");
      void client.invalidateQueries({ queryKey: ["keys"] });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (name.trim() && !create.isPending) create.mutate();
  }
  const failure = create.error ? told(create.error) : undefined;
  return (
    <section className="key-form" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>New key</h2>
      {create.data ? (
        <Secret created={create.data} onDone={() => create.reset()} />
      ) : (
        <form onSubmit={submit} data-testid="create-key">
          <div className="field grow">
            <label htmlFor={`${id}-name`}>Name</label>
            <input
              id={`${id}-name`}
              type="text"
              required
              maxLength={80}
              autoComplete="off"
              placeholder="who or what uses it"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor={`${id}-scope`}>Scope</label>
            <select
              id={`${id}-scope`}
              value={scope}
              onChange={(event) => setScope(event.target.value as KeyCreation["scope"])}
            >
              <option value="read">read: see runs and results</option>
              <option value="full">full: start, cancel, manage keys</option>
            </select>
          </div>
          <button type="submit" className="primary" disabled={!name.trim() || create.isPending}>
            {create.isPending ? "Creating …" : "Create key"}
          </button>
          <details className="fold limits-fold">
            <summary>Limits</summary>
            <div className="row">
              <div className="field">
                <label htmlFor={`${id}-requests`}>Requests per minute</label>
                <input
                  id={`${id}-requests`}
                  type="number"
                  min={1}
                  max={1_000_000}
                  placeholder="as usual"
                  value={requests}
                  onChange={(event) => setRequests(event.target.value)}
                />
              </div>
              <div className="field">
                <label htmlFor={`${id}-jobs`}>Jobs at once</label>
                <input
                  id={`${id}-jobs`}
                  type="number"
                  min={1}
                  max={1000}
                  placeholder="as usual"
                  value={jobs}
                  onChange={(event) => setJobs(event.target.value)}
                />
              </div>
            </div>
          </details>
          {failure && (
            <p className="problem" role="alert">
              {failure.message}
              {failure.hint ? `: ${failure.hint}` : ""}
            </p>
          )}
        </form>
      )}
    </section>
  );
}

function Secret({ created, onDone }: { created: CreatedKey; onDone: () => void }) {
  return (
    <div className="box good stack" role="status" data-testid="new-key">
      <p>
        <strong>{created.name}</strong> is created. Copy its secret now: it is not shown again.
      </p>
      <div className="command">
        <pre tabIndex={0} role="region" aria-label="Secret of the new key">
          <code data-testid="secret">{created.key}</code>
        </pre>
        <CopyButton text={created.key} label="Copy" className="primary" />
      </div>
      <p className="small">
        Log in with it, or send it as <code>Authorization: Bearer …</code>. The command line takes it from{" "}
        <code>MAYAVI_API_KEY</code>.
      </p>
      <div>
        <button type="button" onClick={onDone}>
          I have copied it
        </button>
      </div>
    </div>
  );
}

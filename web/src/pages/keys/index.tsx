/** `/keys`: create, list and revoke API keys. Only full keys may; others see why not. */
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import { EmptyState, ErrorState, Loading } from "../../components";
import { useMayWrite, useSession } from "../../shell/session";
import { useTitle } from "../../shell/useTitle";
import { CreateKey } from "./CreateKey";
import { KeyTable } from "./KeyTable";
import "./keys.css";

export function Component() {
  useTitle("Keys");
  const mayWrite = useMayWrite();
  const session = useSession();
  return (
    <>
      <div className="page-head">
        <h1>Keys</h1>
      </div>
      {mayWrite ? (
        <Manage />
      ) : (
        <EmptyState title="This key is read-only">
          <p>
            You are logged in with the key <strong>{session.key.name}</strong>, which may read everything and change
            nothing. Log in with a full key to see and manage keys, or ask somebody who has one.
          </p>
        </EmptyState>
      )}
    </>
  );
}

function Manage() {
  const keys = useQuery({ ...queries.keys(), refetchInterval: 30_000 });
  return (
    <div className="stack keys-page">
      <p className="lead">
        Everybody who uses the service has a key of their own, so that one can be revoked without the others. The
        service keeps hashes only: a secret is shown once.
      </p>
      <CreateKey />
      {keys.error && !keys.data ? (
        <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />
      ) : keys.data ? (
        <KeyTable keys={keys.data.items} />
      ) : (
        <Loading what="Loading keys …" />
      )}
    </div>
  );
}

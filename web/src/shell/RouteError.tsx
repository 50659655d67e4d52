import { useRouteError } from "react-router";
import { ErrorState } from "../components/states";

const NOT_LOADED = /dynamically imported module|module script/i;
const UPDATED =
  "The service was updated while this page was open, or it does not answer. Load the page again; drafts are kept.";

/** A page that broke, or whose code could not be loaded because the service was updated meanwhile. */
export function RouteError() {
  const thrown = useRouteError();
  const error = thrown instanceof Error && NOT_LOADED.test(thrown.message) ? new Error(UPDATED) : thrown;
  return (
    <main className="page">
      <ErrorState error={error} title="The page could not be shown" onRetry={() => window.location.reload()} />
    </main>
  );
}

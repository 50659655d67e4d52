import { useRouteError } from "react-router";
import { ErrorState } from "../components/states";

/** A page that broke, or whose code could not be loaded because the service was updated meanwhile. */
export function RouteError() {
  const error = useRouteError();
  return (
    <main className="page">
      <ErrorState error={error} title="The page could not be shown" onRetry={() => window.location.reload()} />
    </main>
  );
}

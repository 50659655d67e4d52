/** `/sweeps/ID`: progress while it runs, then its report; its runs; cancel. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { cancelSweep } from "../../api/commands";
import { useJobEvents } from "../../api/events";
import { ApiFailure } from "../../api/failure";
import { queries } from "../../api/queries";
import { isActive, type PageData, type SweepDetails } from "../../api/types";
import { ConfirmOnce, ErrorState, Loading, PageView, StatusBadge, toast, toastError } from "../../components";
import { Crumbs } from "../../components/Crumbs";
import { ReportLinks } from "../../components/ReportLinks";
import { useMayWrite } from "../../shell/session";
import { useTitle } from "../../shell/useTitle";
import { SweepPlan } from "./SweepPlan";
import { SweepProgress } from "./SweepProgress";
import { SweepRuns } from "./SweepRuns";
import "./sweep.css";

export function Component() {
  const { sweepId = "" } = useParams();
  const sweep = useQuery({
    ...queries.sweep(sweepId),
    refetchInterval: (query) => (query.state.data && isActive(query.state.data.status) ? 5_000 : false),
  });
  useTitle(sweep.data ? `Sweep of ${sweep.data.scenario}` : "Sweep");
  const client = useQueryClient();
  const active = sweep.data ? isActive(sweep.data.status) : false;
  const event = useJobEvents(active ? `/sweeps/${encodeURIComponent(sweepId)}/events` : null, () => {
    void client.invalidateQueries({ queryKey: ["sweep", sweepId] });
    void client.invalidateQueries({ queryKey: ["runs"] });
    void client.invalidateQueries({ queryKey: ["sweeps"] });
  });
  if (sweep.error && !sweep.data)
    return (
      <>
        <Crumbs to="/sweeps" list="Sweeps" id={sweepId} />
        <h1 className="sr">Sweep {sweepId}</h1>
        <ErrorState error={sweep.error} onRetry={() => void sweep.refetch()} />
      </>
    );
  if (!sweep.data) return <Loading what="Loading the sweep …" />;
  return (
    <>
      <Crumbs to="/sweeps" list="Sweeps" id={sweepId}>
        <StatusBadge status={sweep.data.status} />
        <Actions sweep={sweep.data} />
      </Crumbs>
      {active ? <SweepProgress sweep={sweep.data} event={event} /> : <Result sweep={sweep.data} />}
      <SweepRuns sweep={sweep.data} />
      <SweepPlan sweep={sweep.data} active={active} />
    </>
  );
}

function Actions({ sweep }: { sweep: SweepDetails }) {
  const mayWrite = useMayWrite();
  const client = useQueryClient();
  const id = encodeURIComponent(sweep.sweep_id);
  if (isActive(sweep.status)) {
    const cancel = async () => {
      try {
        await cancelSweep(sweep.sweep_id);
        toast("Cancelling. Runs that are done stay.");
      } catch (error) {
        toastError(error);
      }
      await client.invalidateQueries({ queryKey: ["sweep", sweep.sweep_id] });
    };
    return (
      <span title={mayWrite ? undefined : "This key is read-only"}>
        <ConfirmOnce
          question="Really cancel the sweep?"
          onConfirm={() => void cancel()}
          disabled={!mayWrite || sweep.status === "cancelling"}
        >
          {sweep.status === "cancelling" ? "Cancelling …" : "Cancel sweep"}
        </ConfirmOnce>
      </span>
    );
  }
  return (
    <>
      {mayWrite && (
        <Link className="button quiet" to={`/sweeps/new?sweep=${id}`}>
          Repeat with changes
        </Link>
      )}
      <ReportLinks html={`/sweeps/${id}/report`} pdf={`/sweeps/${id}/report.pdf`} />
    </>
  );
}

/** The report once the sweep has ended. A sweep without finished runs has none, and says why. */
function Result({ sweep }: { sweep: SweepDetails }) {
  const page = useQuery({ ...queries.sweepPage(sweep.sweep_id), staleTime: Number.POSITIVE_INFINITY });
  if (page.data) return <PageView page={page.data as PageData} />;
  if (page.isPending) {
    return (
      <>
        <h1>Sweep of {sweep.scenario}</h1>
        <Loading what="Building the report …" />
      </>
    );
  }
  const none = page.error instanceof ApiFailure && page.error.status === 409;
  return (
    <div className="stack">
      <h1>
        Sweep of {sweep.scenario}: {sweep.status}
      </h1>
      {sweep.error && (
        <div className="box bad">
          <p>{sweep.error}</p>
        </div>
      )}
      {none ? (
        <p className="lead">{page.error.message}</p>
      ) : (
        <ErrorState error={page.error} onRetry={() => void page.refetch()} />
      )}
    </div>
  );
}

/** The block scrubber: figures after a chosen step, what changed in it, and its actions. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Link } from "react-router";
import { queries } from "../../api/queries";
import type { RunDetails, StepDetails } from "../../api/types";
import { EmptyState, ErrorState, type GridColumn, Loading, VirtualGrid } from "../../components";
import { count, counted, utc } from "../../lib/format";
import { useShortcuts } from "../../lib/keys";
import { useUrlState } from "../../lib/url-state";
import { ActionDetails } from "./ActionDetails";
import { ActionCell, CALL_UNDER, ROW_HEIGHT } from "./Actions";
import { grouped, MarketFigures, StepAccounts } from "./StepFigures";
import { hasResults, Unfinished } from "./Unfinished";

export function Steps({ run }: { run: RunDetails }) {
  if (!hasResults(run)) return <Unfinished run={run} what="Steps" />;
  if (run.steps < 1) return <EmptyState title="This run has no steps" />;
  return <Scrubber run={run} />;
}

function Scrubber({ run }: { run: RunDetails }) {
  const [params, change] = useUrlState();
  const client = useQueryClient();
  const last = run.steps - 1;
  const written = params.get("step");
  const asked = written === null ? last : Number(written);
  const exists = written !== "" && Number.isInteger(asked) && asked >= -1 && asked <= last;
  const wanted = exists ? asked : last;
  const [step, setStep] = useState(wanted);
  useEffect(() => setStep(wanted), [wanted]);

  // The slider moves at once; the address and the figures follow when it rests.
  useEffect(() => {
    if (step === wanted) return;
    const timer = window.setTimeout(() => change({ step: String(step) }), 120);
    return () => window.clearTimeout(timer);
  }, [step, wanted, change]);

  const details = useQuery({ ...queries.step(run.run_id, wanted), staleTime: Number.POSITIVE_INFINITY });
  const before = useQuery({
    ...queries.step(run.run_id, wanted - 1),
    enabled: wanted >= 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: undefined,
    retry: false,
  });
  useEffect(() => {
    if (wanted < last) void client.prefetchQuery({ ...queries.step(run.run_id, wanted + 1), staleTime: 60_000 });
  }, [client, run.run_id, wanted, last]);
  const move = (by: number) => setStep((now) => Math.max(-1, Math.min(last, now + by)));
  useShortcuts([
    { keys: "ArrowLeft", text: "previous step", run: () => move(-1) },
    { keys: "ArrowRight", text: "next step", run: () => move(1) },
  ]);
  const shown = details.data;
  const figures = useMemo(() => shown && grouped(shown), [shown]);
  return (
    <div className="stack" data-testid="steps">
      <div className="scrubber">
        <div className="scrub-line">
          <button type="button" aria-label="Previous step" disabled={step <= -1} onClick={() => move(-1)}>
            ◀
          </button>
          <input
            type="range"
            className="grow"
            min={-1}
            max={last}
            step={1}
            value={step}
            aria-label="Step of the run"
            aria-valuetext={`${nameOf(step)}, steps are 0 to ${last}`}
            onChange={(event) => setStep(Number(event.target.value))}
          />
          <button type="button" aria-label="Next step" disabled={step >= last} onClick={() => move(1)}>
            ▶
          </button>
        </div>
        <p className="scrub-where num" role="status">
          {exists ? nameOf(step) : `No step ${written}`}
          {exists && step === wanted && shown && (
            <>
              {` · block ${count(shown.block_number)} · `}
              <span className="nowrap">{utc(shown.timestamp)}</span>
            </>
          )}
          {" · "}
          <span className="muted nowrap">{last > 0 ? `steps 0 to ${count(last)}` : "the only step is 0"}</span>
        </p>
      </div>
      {!exists ? (
        <EmptyState title={`This run has no step ${written}`}>
          <p>Its steps are 0 to {count(last)}, and −1 is the state before the first.</p>
          <button type="button" onClick={() => change({ step: String(last) })}>
            Show the last step
          </button>
        </EmptyState>
      ) : details.error ? (
        <ErrorState error={details.error} onRetry={() => void details.refetch()} />
      ) : shown ? (
        <div className={details.isPlaceholderData ? "stale stack" : "stack"}>
          <MarketFigures subjects={figures?.markets ?? []} before={before.data} />
          <StepActions run={run} step={shown} />
          {figures && figures.accounts.length > 0 && (
            <section aria-label="Accounts">
              <div className="list-line">
                <h2>{counted(figures.accounts.length, "account")}</h2>
              </div>
              <StepAccounts runId={run.run_id} accounts={figures.accounts} />
            </section>
          )}
        </div>
      ) : (
        <Loading what="Loading the step …" />
      )}
    </div>
  );
}

function nameOf(step: number): string {
  return step < 0 ? "Before the first step" : `Step ${count(step)}`;
}

const COLUMNS: GridColumn[] = [
  { id: "agent", head: "Agent", width: "minmax(96px, 150px)" },
  { id: "kind", head: "Action", width: "minmax(80px, 120px)" },
  { id: "call", head: "Call", width: "minmax(0, 3fr)", wraps: true },
  { id: "changes", head: "Change", width: "minmax(0, 2fr)", wraps: true, hideBelow: 900 },
  { id: "gas", head: "Gas", width: "72px", align: "right", hideBelow: 760 },
];

function StepActions({ run, step }: { run: RunDetails; step: StepDetails }) {
  const [current, setCurrent] = useState(-1);
  const [opened, setOpened] = useState<number | null>(null);
  const action = step.actions.find((each) => each.seq === opened);
  return (
    <section aria-label="Actions of the step">
      <div className="list-line">
        <h2>{counted(step.action_count, "action")}</h2>
        {step.action_count > 0 && (
          <Link to={`/runs/${run.run_id}/actions?step=${step.step}`}>Open in the action log</Link>
        )}
      </div>
      {step.actions.length > 0 && (
        <div className={`log ${action ? "with-details" : ""}`}>
          <VirtualGrid
            label="Actions of the step"
            testId="step-actions"
            columns={COLUMNS}
            count={step.actions.length}
            rowHeight={ROW_HEIGHT}
            under={CALL_UNDER}
            around={480}
            cell={(row, column) => {
              const each = step.actions[row];
              return each && <ActionCell action={each} column={column} />;
            }}
            current={current}
            onCurrent={setCurrent}
            onOpen={(row) =>
              setOpened((known) => (known === step.actions[row]?.seq ? null : (step.actions[row]?.seq ?? null)))
            }
            rowClass={(row) => (opened !== null && step.actions[row]?.seq === opened ? "chosen" : "")}
            shortcuts
          />
          {action && <ActionDetails run={run} action={action} onClose={() => setOpened(null)} />}
        </div>
      )}
    </section>
  );
}

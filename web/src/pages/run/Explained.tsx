import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useNavigate } from "react-router";
import { ApiFailure } from "../../api/failure";
import { queries } from "../../api/queries";
import type { ExplainedEvent, Explanation, RunDetails } from "../../api/types";
import { Badge, Chart, EmptyState, ErrorState, Loading, Prose } from "../../components";
import { lineChart } from "../../components/chart-lines";
import { count, counted, healthFactor } from "../../lib/format";

const NO_DEBT = 100; // far from any liquidation: an account without debt

/** The history of an account: sentences, health factor, events. */
export function Explained({ run, agent }: { run: RunDetails; agent: string }) {
  const navigate = useNavigate();
  const told = useQuery({ ...queries.explanation(run.run_id, agent), staleTime: Number.POSITIVE_INFINITY });
  const chart = useMemo(() => told.data && healthChart(told.data), [told.data]);
  if (told.error instanceof ApiFailure && told.error.status === 409)
    return (
      <EmptyState title={`${agent} has several accounts`}>
        <p>Choose one of them in the list. Those that were liquidated most often come first.</p>
        <Link to={`/runs/${run.run_id}/actions?agent=${encodeURIComponent(agent)}`}>All actions of {agent}</Link>
      </EmptyState>
    );
  if (told.error) return <ErrorState error={told.error} title={`Nothing known about ${agent}`} />;
  if (!told.data) return <Loading what={`Explaining ${agent} …`} />;
  const { account, sentences, events } = told.data;
  return (
    <div className="stack" data-testid="explanation">
      <div>
        <h2>{account || told.data.agent}</h2>
        {account && account !== told.data.agent && (
          <p className="muted">
            Account of the agent {told.data.agent} ·{" "}
            <Link to={`/runs/${run.run_id}/actions?account=${account}`}>its actions</Link>
          </p>
        )}
      </div>
      <div className="text">
        {sentences.map((sentence, at) => (
          <p key={at}>
            <Prose text={asSentence(sentence)} />
          </p>
        ))}
      </div>
      {chart && <Chart chart={chart} onStep={(step) => void navigate(`/runs/${run.run_id}/steps?step=${step}`)} />}
      <h3>{events.length > 0 ? counted(events.length, "event") : "It did nothing, and nobody acted on it"}</h3>
      {events.length > 0 && <Events run={run} events={events} />}
    </div>
  );
}

/** Names of accounts stay as they are; other sentences begin with a capital. */
function asSentence(text: string): string {
  const start = /^[a-z]+\b(?!-)/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  return `${start}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Health factors after each step, and those right before what happened to the account in between. */
function healthPoints({ health_factors: after, events }: Explanation): [number, number][] {
  const before = events.flatMap((event): [number, number][] =>
    event.health_factor_before === null ? [] : [[event.step, event.health_factor_before]],
  );
  const told = [...before.map((point) => ({ point, last: 0 })), ...after.map((point) => ({ point, last: 1 }))];
  return told.sort((a, b) => a.point[0] - b.point[0] || a.last - b.last).map(({ point }) => point);
}

function healthChart(explanation: Explanation) {
  const known = healthPoints(explanation).filter(([, value]) => value < NO_DEBT);
  if (known.length < 2) return null;
  const values = known.map(([, value]) => value);
  const lowest = Math.min(...values);
  const at = known.find(([, value]) => value === lowest)?.[0] ?? 0;
  const finding = lowest < 1 ? `falls below 1 at step ${known.find(([, value]) => value < 1)?.[0]}` : "stays above 1";
  return lineChart({
    title: `The health factor ${finding}`,
    subtitle: `Health factor of ${explanation.account || explanation.agent} after each step and before each event; lowest ${healthFactor(lowest)} at step ${at}. Below 1 anybody may liquidate.`,
    x: { label: "step", format: "count" },
    y: { label: "health factor", format: "number" },
    line: { label: "health factor", xs: known.map(([step]) => step), ys: values },
    marks: [[1, "liquidation below 1"]],
  });
}

function Events({ run, events }: { run: RunDetails; events: ExplainedEvent[] }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Events of the account">
      <table>
        <thead>
          <tr>
            <th scope="col" className="right">
              Step
            </th>
            <th scope="col">Action</th>
            <th scope="col">By</th>
            <th scope="col">What happened</th>
            <th scope="col" className="right">
              Health factor
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event, at) => (
            <tr key={at}>
              <td className="right">
                <Link to={`/runs/${run.run_id}/steps?step=${event.step}`}>{count(event.step)}</Link>
              </td>
              <td>
                {event.kind}{" "}
                {event.liquidates ? (
                  <Badge tone="bad">liquidation</Badge>
                ) : (
                  event.status !== "success" && <Badge tone="warn">{event.status}</Badge>
                )}
              </td>
              <td>{event.own ? "itself" : event.agent}</td>
              <td className="left">
                {[event.amounts, event.cause, event.note].filter(Boolean).map((text, part) => (
                  <span key={part} className={part === 0 && event.amounts ? "" : "muted"}>
                    {part > 0 && " · "}
                    {text}
                  </span>
                ))}
              </td>
              <td className="right">{change(event)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function change({ health_factor_before: before, health_factor_after: after }: ExplainedEvent): string {
  if (before === null || after === null || before === after) return healthFactor(after ?? before);
  return `${healthFactor(before)} → ${healthFactor(after)}`;
}

import { useEffect, useRef } from "react";
import { Link } from "react-router";
import type { RunDetails, StepAction } from "../../api/types";
import { Address, Badge, CopyButton } from "../../components";
import { count, formatCell, utc } from "../../lib/format";
import { linkOf } from "./use-opened";

const WIDE = "(min-width: 1100px)"; // narrower windows show the details below the list
const NO_DEBT = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

interface Props {
  run: RunDetails;
  action: StepAction;
  onClose: () => void;
}

/** Everything about one action: decoded call, what it changed, exact fields. */
export function ActionDetails({ run, action, onClose }: Props) {
  const panel = useRef<HTMLElement>(null);
  const where = `/runs/${run.run_id}`;
  const { seq } = action;
  useEffect(() => {
    void seq;
    panel.current?.scrollTo(0, 0);
    if (!window.matchMedia(WIDE).matches) panel.current?.scrollIntoView({ block: "nearest" });
  }, [seq]);
  const about = encodeURIComponent(action.account || action.agent);
  const borrower = typeof action.details.borrower === "string" ? action.details.borrower : "";
  const link = `${window.location.origin}/app${where}/actions?action=${linkOf(action)}`;
  return (
    <aside className="details" aria-label="Details of the action" ref={panel} data-testid="action-details">
      <p className="row far">
        <Badge tone={action.status === "success" ? "good" : "bad"}>{action.status}</Badge>
        <span className="row">
          <CopyButton text={link} label="Copy link" className="tiny" />
          <button type="button" className="tiny" onClick={onClose} aria-label="Close the details">
            Close
          </button>
        </span>
      </p>
      <h2>{action.call || action.kind}</h2>
      {action.reason && <p className="box bad run-error">{action.reason}</p>}
      {action.changes && action.changes.length > 0 && (
        <div>
          <h3>Changes</h3>
          <ul className="changes">
            {action.changes.map((change, at) => (
              <li key={at} className="num">
                {change}
              </li>
            ))}
          </ul>
        </div>
      )}
      <dl className="facts">
        <dt>step</dt>
        <dd>
          <Link to={`${where}/steps?step=${action.step}`}>{count(action.step)}</Link>
        </dd>
        <dt>block, time</dt>
        <dd>
          {count(action.block_number)}, {utc(action.timestamp)}
        </dd>
        <dt>agent</dt>
        <dd>
          <Link to={`${where}/agents?agent=${about}`}>{action.agent}</Link>
        </dd>
        <dt>account</dt>
        <dd>
          <Address text={action.account} />
        </dd>
        {borrower && (
          <>
            <dt>borrower</dt>
            <dd>
              <Link to={`${where}/agents?agent=${encodeURIComponent(borrower)}`}>{borrower}</Link>
            </dd>
          </>
        )}
        <dt>gas</dt>
        <dd>{count(action.gas_used)}</dd>
        <dt>fee</dt>
        <dd title={`${action.fee_wei} wei`}>{formatCell(Number(action.fee_wei) / 1e18, "number")} ETH</dd>
        <dt>row</dt>
        <dd title="Number of the row in the run, across all tables: the column seq">seq {action.seq}</dd>
      </dl>
      {Object.keys(action.details).length > 0 && (
        <details className="fold">
          <summary>Exact fields</summary>
          <dl className="facts">
            {Object.entries(action.details).map(([name, value]) => (
              <Detail key={name} name={name} value={value} />
            ))}
          </dl>
        </details>
      )}
      <p className="row">
        {borrower && (
          <Link to={`${where}/agents?agent=${encodeURIComponent(borrower)}`} className="button">
            Explain {borrower}
          </Link>
        )}
        <Link to={`${where}/agents?agent=${about}`} className="button">
          Explain {borrower || !action.account ? action.agent : "this account"}
        </Link>
      </p>
    </aside>
  );
}

function Detail({ name, value }: { name: string; value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <>
      <dt>{name.replaceAll("_", " ")}</dt>
      <dd>{text === NO_DEBT ? "no debt" : <Address text={text} />}</dd>
    </>
  );
}

/** Designed states: loading, nothing there, failed. */
import type { ReactNode } from "react";
import { ApiFailure, told } from "../api/failure";
import { sentence } from "../lib/format";
import { Prose } from "./Prose";

export function Loading({ what = "Loading …" }: { what?: string }) {
  return (
    <p className="loading" role="status">
      <span className="spinner" aria-hidden="true" />
      {what}
    </p>
  );
}

/** Nothing to show: why, and what to do. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state" data-testid="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A refused or failed request: what was wrong, what to do, and the id that finds it in the logs. */
export function ErrorState({ error, onRetry, title }: { error: unknown; onRetry?: () => void; title?: string }) {
  const { message, hint, problems, requestId } = told(error);
  const missing = error instanceof ApiFailure && error.status === 404;
  return (
    <div className="state error" role="alert" data-testid="error">
      <h2>{title ?? (missing ? "Not found" : "This did not work")}</h2>
      <p>
        <Prose text={sentence(message)} />
      </p>
      {problems.length > 0 && (
        <ul className="problems">
          {problems.map((problem, at) => (
            <li key={at}>
              {problem.line ? `line ${problem.line}: ` : problem.field ? `${problem.field}: ` : ""}
              {problem.message}
              {problem.hint ? ` (${problem.hint})` : ""}
            </li>
          ))}
        </ul>
      )}
      {hint && (
        <p className="muted">
          <Prose text={sentence(hint)} />
        </p>
      )}
      {requestId && (
        <p className="small">
          Request <code>{requestId}</code>
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Progress of a job; without a total the bar is hidden. */
export function ProgressBar({ done, total, label }: { done: number; total: number; label: string }) {
  const share = total > 0 ? Math.min(done / total, 1) : 0;
  return (
    <span
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}

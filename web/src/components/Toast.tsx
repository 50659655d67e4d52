/** Short messages in the corner. `toast("Cancelled")`, `toastError(error)`; an action can undo what was done. */
import { useSyncExternalStore } from "react";
import { told } from "../api/failure";

interface Message {
  id: number;
  text: string;
  tone: "plain" | "good" | "bad" | "warn";
  action?: { label: string; run: () => void };
}

let messages: Message[] = [];
let next = 1;
const listeners = new Set<() => void>();
const SECONDS = { plain: 6, good: 6, warn: 10, bad: 12 };

function set(now: Message[]): void {
  messages = now;
  for (const each of listeners) each();
}

function dismiss(id: number): void {
  set(messages.filter((each) => each.id !== id));
}

export function toast(text: string, tone: Message["tone"] = "plain", action?: Message["action"]): void {
  const id = next++;
  set([...messages.slice(-3), { id, text, tone, action }]);
  window.setTimeout(() => dismiss(id), SECONDS[tone] * 1_000);
}

export function toastError(error: unknown): void {
  const { message, hint } = told(error);
  toast(hint ? `${message}: ${hint}` : message, "bad");
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => messages,
  );
  return (
    <div className="toasts" role="status" aria-live="polite" data-testid="toasts">
      {shown.map(({ id, text, tone, action }) => (
        <div key={id} className={`toast ${tone}`}>
          <span className="grow">{text}</span>
          {action && (
            <button
              type="button"
              className="tiny"
              onClick={() => {
                action.run();
                dismiss(id);
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" className="tiny" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

/** Drafts of the form, kept in the browser's session: nothing typed is lost on reload, log-out or lost connection. */

import type { Axis } from "../sweep/grid";

export interface Draft {
  text: string;
  seeds: string;
  axes: Axis[];
  /** Sent as Idempotency-Key: a second click, or a click after a lost answer, starts nothing new. */
  submissionKey: string;
  /** Body for which the key was made. */
  submissionBody: string;
  savedAt: number;
}

const PREFIX = "mayavi.draft.";

export function loadDraft(name: string): Draft | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null") as Partial<Draft> | null;
    if (typeof found?.text !== "string") return undefined;
    return {
      text: found.text,
      seeds: found.seeds ?? "0:20",
      axes: Array.isArray(found.axes) ? found.axes : [],
      submissionKey: found.submissionKey ?? "",
      submissionBody: found.submissionBody ?? "",
      savedAt: found.savedAt ?? 0,
    };
  } catch {
    return undefined;
  }
}

export function saveDraft(name: string, draft: Draft): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(draft));
  } catch {
    // Storage is full or switched off: the form works, only without a draft.
  }
}

export function dropDraft(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // As above.
  }
}

/** Return the draft with a submission key for `body`: the same body keeps its key. */
export function withSubmissionKey(draft: Draft, body: string): Draft {
  if (draft.submissionKey && draft.submissionBody === body) return draft;
  return { ...draft, submissionKey: crypto.randomUUID(), submissionBody: body };
}

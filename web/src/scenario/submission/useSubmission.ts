/** What would be sent, whether it can be, and sending it once. */

import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { ApiFailure } from "../../api/failure";
import type { SweepSubmission, Validation } from "../../api/types";
import { useMayWrite } from "../../shell/session";
import { submissionOf } from "../document/changes";
import { withSubmissionKey } from "../editor/drafts";
import type { ScenarioDocument } from "../editor/useScenarioDocument";
import { axisProblem, countRuns, gridOf } from "../sweep/grid";
import type { Template } from "../template/template";
import { type Checked, type LocatedProblem, located, useValidation } from "./useValidation";

export type Send = (body: SweepSubmission, key: string) => Promise<void>;

export interface Submitting {
  checked: Checked;
  problems: LocatedProblem[];
  /** Why it cannot be sent; undefined if it can. */
  reason: string | undefined;
  isPending: boolean;
  /** A failure that names no place in the document. */
  error: Error | null;
  submit: () => void;
}

export function useSubmission(
  template: Template,
  document: ScenarioDocument,
  isSweep: boolean,
  send: Send,
): Submitting {
  const { parsed, seeds, axes } = document;
  const mayWrite = useMayWrite();
  const body = useMemo(() => {
    const submission = submissionOf(template.library?.name, template.library?.value, parsed.text, parsed.value);
    if (!isSweep) return submission;
    const { seed: _, ...rest } = submission;
    return { ...rest, seeds: seeds.trim(), grid: gridOf(axes) };
  }, [template, parsed, isSweep, seeds, axes]);
  const checked = useValidation(parsed, body as Validation);
  const written = JSON.stringify(body);
  const start = useMutation({
    mutationFn: async () => {
      const draft = withSubmissionKey(document.draft(), written);
      document.keepDraft(draft);
      await send(body as SweepSubmission, draft.submissionKey);
      document.forget();
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was refused is no longer what would be sent
  useEffect(() => start.reset(), [written, start.reset]);

  const refused = start.error instanceof ApiFailure ? start.error.problems : [];
  const problems =
    checked.problems.length > 0 ? checked.problems : refused.map((each) => located(parsed, each, "yaml" in body));
  const reason = blocked({ mayWrite, checked, isSweep, document });
  return {
    checked,
    problems,
    reason,
    isPending: start.isPending,
    error: refused.length > 0 ? null : start.error,
    submit: () => {
      if (!reason && !start.isPending) start.mutate();
    },
  };
}

interface Blocking {
  mayWrite: boolean;
  checked: Checked;
  isSweep: boolean;
  document: ScenarioDocument;
}

function blocked({ mayWrite, checked, isSweep, document: { seeds, axes } }: Blocking): string | undefined {
  if (!mayWrite) return "This key is read-only: it can check scenarios, not start them.";
  if (isSweep && countRuns(seeds, axes) === undefined) return "The seeds cannot be read.";
  if (isSweep && axes.some((axis) => axisProblem(axis, axes) !== undefined))
    return "A row of the grid is not complete.";
  if (checked.state !== "invalid") return undefined;
  return checked.problems.length === 1
    ? "1 problem to fix first."
    : `${checked.problems.length} problems to fix first.`;
}

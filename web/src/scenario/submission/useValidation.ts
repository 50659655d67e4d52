/** Check the document while it is written: YAML here, everything else by the service. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { validate } from "../../api/commands";
import { useReachable } from "../../api/connection";
import type { Problem, Validated, Validation } from "../../api/types";
import { type Parsed, place } from "../document/document";
import { pathAt } from "../document/locate";
import { dotted, findPath } from "../document/values";

export interface LocatedProblem extends Problem {
  /** Place in the text that is shown, where there is one. */
  from?: number;
  to?: number;
}

export interface Checked {
  problems: LocatedProblem[];
  command: string;
  runs: number | undefined;
  state: "checking" | "valid" | "invalid" | "unchecked";
}

const PAUSE_MS = 350;

export function useValidation(parsed: Parsed, body: Validation): Checked {
  const written = JSON.stringify(body);
  const settled = useSettled(written);
  const reachable = useReachable();
  const readable = parsed.problems.length === 0;
  const asked = useQuery({
    queryKey: ["validation", settled],
    queryFn: ({ signal }) => check(JSON.parse(settled) as Validation, parsed.text, signal),
    enabled: readable && settled !== "",
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const current = settled === written && !asked.isPlaceholderData && asked.data !== undefined;
  if (!readable) {
    const problems = parsed.problems.map(({ message, line, column, from, to }) => ({
      message,
      hint: null,
      field: null,
      line,
      column,
      from,
      to,
    }));
    return { problems, command: "", runs: undefined, state: "invalid" };
  }
  const problems = (asked.data?.problems ?? []).map((problem) => located(parsed, problem, asked.data?.asText ?? false));
  const runs = asked.data?.valid ? asked.data.runs : undefined;
  const command = asked.data?.command ?? "";
  if (!current) return { problems, command, runs, state: asked.isError || !reachable ? "unchecked" : "checking" };
  return { problems, command, runs, state: asked.data?.valid ? "valid" : "invalid" };
}

/**
 * Check what would be sent. Problems with overrides name options and no lines, so the text is then checked as a whole.
 */
async function check(body: Validation, text: string, signal: AbortSignal): Promise<Validated & { asText: boolean }> {
  const found = await validate(body, signal);
  if (found.valid || body.yaml != null) return { ...found, asText: body.yaml != null };
  const { seeds, grid } = body;
  const whole = await validate({ yaml: text, overrides: {}, seeds, grid: grid ?? {} }, signal);
  return whole.valid ? { ...found, asText: false } : { ...whole, command: found.command, asText: true };
}

/** Find the place of a problem in the text of the form: by its key, or by its line if the text was sent as it is. */
export function located(parsed: Parsed, problem: Problem, sentAsText: boolean): LocatedProblem {
  if (sentAsText && problem.line) {
    const lines = parsed.text.split("\n");
    const start = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const from = start + Math.max(0, (problem.column ?? 1) - 1);
    const at = pathAt(parsed, from);
    const named = problem.field && findPath(parsed.value, problem.field) ? problem.field : undefined;
    const field = named ?? (at ? dotted(at.path) : null);
    return { ...problem, field, from: at?.from ?? from, to: at?.to ?? start + (lines[problem.line - 1]?.length ?? 0) };
  }
  const field = problem.field?.replace(/^overrides\./, "").replaceAll('"', "") ?? null;
  const path = field ? (findPath(parsed.value, field) ?? field.split(".")) : undefined;
  const found = path && place(parsed, path);
  if (!found) return { ...problem, field, line: null, column: null };
  const line = parsed.text.slice(0, found.from).split("\n").length;
  return { ...problem, field, from: found.from, to: found.to, line };
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [value]);
  return settled;
}

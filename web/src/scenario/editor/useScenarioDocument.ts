/** The document of a form: text, values, draft, and how to change them. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { change, type Parsed, parse, rename } from "../document/document";
import { type Path, sameValue, type Value } from "../document/values";
import type { Axis } from "../sweep/grid";
import { type Draft, dropDraft, loadDraft, saveDraft } from "./drafts";

export interface ScenarioDocument {
  text: string;
  parsed: Parsed;
  /** The last text without errors: what the form shows. */
  good: Parsed;
  base: Parsed;
  seeds: string;
  axes: Axis[];
  /** When the draft was saved that the form began with. */
  restoredAt: number | undefined;
  changed: boolean;
  setText: (text: string) => void;
  setSeeds: (seeds: string) => void;
  setAxes: (axes: Axis[]) => void;
  set: (path: Path, next: Value | undefined) => void;
  rename: (path: Path, name: string) => void;
  startOver: () => void;
  /** The draft as saved, to send it with a key of its own. */
  draft: () => Draft;
  keepDraft: (draft: Draft) => void;
  forget: () => void;
}

interface Beginning {
  text: string;
  seeds: string;
  axes: Axis[];
}

function sameDraft(one: Beginning, other: Beginning): boolean {
  return (
    one.text === other.text && one.seeds === other.seeds && JSON.stringify(one.axes) === JSON.stringify(other.axes)
  );
}

export function useScenarioDocument(draftName: string, beginning: Beginning): ScenarioDocument {
  const template = beginning.text;
  const base = useMemo(() => parse(template), [template]);
  const [restored] = useState(() => {
    const found = loadDraft(draftName);
    return found && sameDraft(found, beginning) ? undefined : found;
  });
  const [text, setTextState] = useState(restored?.text ?? template);
  const [seeds, setSeeds] = useState(restored?.seeds ?? beginning.seeds);
  const [axes, setAxes] = useState<Axis[]>(restored?.axes ?? beginning.axes);
  const [restoredAt, setRestoredAt] = useState(restored?.savedAt);
  const parsed = useMemo(() => parse(text), [text]);
  const lastGood = useRef(base);
  if (parsed.problems.length === 0) lastGood.current = parsed;
  const submission = useRef({
    submissionKey: restored?.submissionKey ?? "",
    submissionBody: restored?.submissionBody ?? "",
  });
  const latest = useRef({ text, seeds, axes });
  latest.current = { text, seeds, axes };
  const left = useRef(false);

  const draft = useCallback((): Draft => ({ ...latest.current, ...submission.current, savedAt: Date.now() }), []);
  useEffect(() => {
    if (left.current) return;
    if (sameDraft({ text, seeds, axes }, beginning)) dropDraft(draftName);
    else saveDraft(draftName, { text, seeds, axes, ...submission.current, savedAt: Date.now() });
  }, [draftName, beginning, text, seeds, axes]);

  const setText = useCallback((next: string) => {
    latest.current = { ...latest.current, text: next };
    setTextState(next);
  }, []);
  // Two changes in one event both count: the second starts from the text of the first.
  const set = useCallback(
    (path: Path, next: Value | undefined) => setText(change(parse(latest.current.text), path, next)),
    [setText],
  );
  const renameKey = useCallback(
    (path: Path, name: string) => setText(rename(parse(latest.current.text), path, name)),
    [setText],
  );
  return {
    text,
    parsed,
    good: lastGood.current,
    base,
    seeds,
    axes,
    restoredAt,
    changed: parsed.problems.length > 0 || !sameValue(parsed.value, base.value),
    setText,
    setSeeds,
    setAxes,
    set,
    rename: renameKey,
    startOver: () => {
      setText(template);
      setSeeds(beginning.seeds);
      setAxes(beginning.axes);
      setRestoredAt(undefined);
    },
    draft,
    keepDraft: (next) => {
      submission.current = { submissionKey: next.submissionKey, submissionBody: next.submissionBody };
      saveDraft(draftName, next);
    },
    forget: () => {
      left.current = true;
      dropDraft(draftName);
    },
  };
}

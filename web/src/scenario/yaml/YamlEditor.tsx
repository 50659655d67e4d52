/** YAML editor with completion, help on hover and problems at their lines. */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { parse } from "../document/document";
import { cursorAt, pathAt } from "../document/locate";
import type { SchemaReader } from "../document/schema";
import type { Value } from "../document/values";
import { helpAt, suggestionsAt } from "./suggestions";

export interface Mark {
  from: number;
  to: number;
  message: string;
}

interface Props {
  text: string;
  label: string;
  marks: Mark[];
  reader: SchemaReader | undefined;
  /** Values of the last text without errors, for completion. */
  value: Value;
  /** Place to show: that of the field which has the focus in the form. */
  shown: { from: number; to: number } | undefined;
  onChange: (text: string) => void;
  onSubmit: () => void;
}

const fromOutside = Annotation.define<boolean>();
const setShown = StateEffect.define<{ from: number } | undefined>();

const shownLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(lines, transaction) {
    let next = lines.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setShown)) continue;
      const at = effect.value ? Math.min(effect.value.from, transaction.newDoc.length) : undefined;
      next =
        at === undefined
          ? Decoration.none
          : Decoration.set([Decoration.line({ class: "cm-shown" }).range(transaction.newDoc.lineAt(at).from)]);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--muted)",
    border: "0",
    borderRight: "1px solid var(--border)",
  },
  ".cm-shown": { backgroundColor: "var(--chosen)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--chosen) !important",
  },
  ".cm-tooltip": {
    color: "var(--ink)",
    backgroundColor: "var(--paper)",
    border: "1px solid var(--border)",
    borderRadius: "6px",
    maxWidth: "min(440px, 90vw)",
    boxShadow: "0 4px 16px rgb(0 0 0 / 16%)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--chosen) !important",
    color: "var(--ink) !important",
  },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "650" },
  ".cm-completionInfo": { padding: "8px 12px", fontFamily: "var(--font)", fontSize: "13px" },
  ".cm-help": { padding: "8px 12px", fontSize: "13px", lineHeight: "1.45" },
  ".cm-help b": { fontFamily: "var(--mono)" },
  ".cm-help small": { display: "block", color: "var(--muted)", fontSize: "12px" },
  ".cm-diagnostic": {
    padding: "8px 12px",
    fontFamily: "var(--font)",
    fontSize: "13px",
    borderLeftColor: "var(--bad)",
    whiteSpace: "pre-wrap",
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lint-marker-error": { content: "normal" },
  ".cm-lint-marker-error::before": { content: '"●"', color: "var(--bad)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--c1)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c3)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--c2)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--muted)" },
]);

export default function YamlEditor(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const box = host.current;
    if (!box) return;
    const state = EditorState.create({ doc: latest.current.text, extensions: extensions(latest) });
    const made = new EditorView({ state, parent: box });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const change = smallestChange(editor.state.doc.toString(), props.text);
    if (change) editor.dispatch({ changes: change, annotations: fromOutside.of(true) });
  }, [props.text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const length = editor.state.doc.length;
    const found: Diagnostic[] = props.marks.map(({ from, to, message }) => {
      const start = Math.min(from, length);
      return { from: start, to: Math.min(Math.max(to, start), length), message, severity: "error" };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [props.marks]);

  const shownFrom = props.shown?.from;
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const at = shownFrom === undefined ? undefined : Math.min(shownFrom, editor.state.doc.length);
    const scroll = at === undefined ? [] : [EditorView.scrollIntoView(at, { y: "nearest", yMargin: 40 })];
    editor.dispatch({ effects: [setShown.of(at === undefined ? undefined : { from: at }), ...scroll] });
  }, [shownFrom]);

  return <div ref={host} className="yaml-editor" data-testid="yaml-editor" />;
}

function extensions(latest: { current: Props }) {
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    yaml(),
    indentUnit.of("  "),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    EditorView.lineWrapping,
    syntaxHighlighting(colours),
    shownLine,
    theme,
    autocompletion({ override: [(context) => complete(context, latest.current)], icons: false }),
    hoverTooltip((editor, position) => help(editor, position, latest.current)),
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => submitFrom(latest) }])),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
    EditorView.contentAttributes.of({ "aria-label": latest.current.label, "data-testid": "yaml-text", tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.some((each) => each.annotation(fromOutside))) return;
      latest.current.onChange(update.state.doc.toString());
    }),
  ];
}

function submitFrom(latest: { current: Props }): boolean {
  latest.current.onSubmit();
  return true;
}

function complete(context: CompletionContext, { reader, value }: Props): CompletionResult | null {
  const cursor = reader && cursorAt(context.state.doc.toString(), context.pos);
  if (!reader || !cursor) return null;
  if (!context.explicit && context.pos === cursor.from && cursor.kind === "key") return null;
  const found = suggestionsAt(reader, value, cursor);
  if (found.length === 0) return null;
  return {
    from: cursor.from,
    options: found.map(({ label, insert, detail, info, kind }) => ({
      label,
      apply: insert,
      detail,
      info: info || undefined,
      type: kind === "key" ? "property" : "constant",
    })),
    validFor: /^[\w.-]*$/,
  };
}

function help(editor: EditorView, position: number, { reader }: Props) {
  const parsed = parse(editor.state.doc.toString());
  const at = parsed.problems.length === 0 ? pathAt(parsed, position) : undefined;
  const found = reader && at && helpAt(reader, parsed.value, at.path);
  if (!at || !found || (!found.description && found.facts.length === 0)) return null;
  return {
    pos: at.from,
    end: at.to,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "cm-help";
      const key = document.createElement("b");
      key.textContent = found.key;
      dom.append(key, ` ${found.description}`);
      for (const fact of found.facts) dom.append(Object.assign(document.createElement("small"), { textContent: fact }));
      return { dom };
    },
  };
}

/** The change that turns one text into another, without their common beginning and end. */
function smallestChange(old: string, next: string): { from: number; to: number; insert: string } | undefined {
  if (old === next) return undefined;
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  )
    end++;
  return { from: start, to: old.length - end, insert: next.slice(start, next.length - end) };
}

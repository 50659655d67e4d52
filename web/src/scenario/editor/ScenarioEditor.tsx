/** Form and YAML side by side: two views of one document, checked while it is written, and the way to start it. */
import { lazy, Suspense, useMemo, useState } from "react";
import { Loading } from "../../components";
import { changes } from "../document/changes";
import { place } from "../document/document";
import { dotted, type Path, quotedPath, valueAt } from "../document/values";
import { FormView } from "../form/FormView";
import { SubmitBar } from "../submission/SubmitBar";
import { GridEditor } from "../sweep/GridEditor";
import { Findings } from "./Findings";
import "./scenario.css";
import { type Send, useSubmission } from "../submission/useSubmission";
import type { Template } from "../template/template";
import { type ScenarioDocument, useScenarioDocument } from "./useScenarioDocument";

const YamlEditor = lazy(() => import("../yaml/YamlEditor"));

interface Props {
  template: Template;
  mode: "run" | "sweep";
  /** Send the submission; the key makes a repeated one harmless. */
  send: Send;
}

export function ScenarioEditor({ template, mode, send }: Props) {
  const isSweep = mode === "sweep";
  const document = useScenarioDocument(`${mode}.${template.id}`, template);
  const submitting = useSubmission(template, document, isSweep, send);
  const [focused, setFocused] = useState<Path>();
  const [jumped, setJumped] = useState<{ from: number; to: number }>();
  const [side, setSide] = useState<"form" | "yaml">("form");
  const { parsed, good, seeds, axes } = document;
  const { problems, checked, submit } = submitting;
  const shared = {
    ...useFormParts(document, isSweep),
    reader: template.reader,
    problems,
    chains: template.chains,
    focus: (path: Path) => {
      setJumped(undefined);
      setFocused(path);
    },
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: problems are made anew with each rendering
  const marks = useMemo(() => marksOf(problems), [JSON.stringify(problems)]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Ctrl+Enter in any field starts the run
    <div
      className={`scenario-editor show-${side}`}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
      }}
    >
      <Restored at={document.restoredAt} onDrop={document.startOver} />
      {isSweep && (
        <GridEditor
          seeds={seeds}
          axes={axes}
          value={good.value}
          problems={problems}
          onSeeds={document.setSeeds}
          onAxes={document.setAxes}
        />
      )}
      <Tabs side={side} onSide={setSide} />
      <div className="scenario-columns">
        <section className="scenario-form" aria-label="Form">
          <Unreadable document={document} />
          <FormView shared={shared} disabled={parsed.problems.length > 0} />
        </section>
        <section className="scenario-yaml" aria-label="YAML">
          <Suspense fallback={<Loading what="Loading the editor …" />}>
            <YamlEditor
              text={document.text}
              label="Scenario as YAML"
              marks={marks}
              reader={template.reader}
              value={good.value}
              shown={jumped ?? (focused && place(parsed, focused))}
              onChange={document.setText}
              onSubmit={submit}
            />
          </Suspense>
          <Findings
            problems={problems}
            checked={checked}
            onJump={(to) => {
              setSide("yaml");
              setJumped(to);
            }}
          />
        </section>
      </div>
      <SubmitBar document={document} submitting={submitting} isSweep={isSweep} />
    </div>
  );
}

/** What the form needs of the document: values, changes, and how to make more. */
function useFormParts(document: ScenarioDocument, isSweep: boolean) {
  const { base, good, axes, set, rename, setAxes } = document;
  const changed = useMemo(() => new Set(changes(base.value, good.value).map(({ path }) => dotted(path))), [base, good]);
  const vary = (path: Path) => {
    const value = valueAt(good.value, path);
    setAxes([...axes, { key: quotedPath(path), values: value?.kind === "scalar" ? `${value.text}, ` : "" }]);
  };
  const varied = new Set(axes.map((axis) => axis.key.replaceAll('"', "")));
  return { value: good.value, base: base.value, changed, set, rename, vary: isSweep ? vary : undefined, varied };
}

function marksOf(problems: { from?: number; to?: number; message: string; hint?: string | null }[]) {
  return problems.flatMap(({ from, to, message, hint }) =>
    from === undefined ? [] : [{ from, to: to ?? from, message: hint ? `${message}\n${hint}` : message }],
  );
}

/** Where there is no room for both, one of the two views. */
function Tabs({ side, onSide }: { side: "form" | "yaml"; onSide: (side: "form" | "yaml") => void }) {
  return (
    <div className="sides" role="tablist" aria-label="View of the scenario">
      {(["form", "yaml"] as const).map((each) => (
        <button key={each} type="button" role="tab" aria-selected={side === each} onClick={() => onSide(each)}>
          {each === "form" ? "Form" : "YAML"}
        </button>
      ))}
    </div>
  );
}

function Unreadable({ document }: { document: ScenarioDocument }) {
  const problem = document.parsed.problems[0];
  if (!problem) return null;
  return (
    <div className="box bad" role="alert" data-testid="unreadable">
      <p>
        <strong>The YAML cannot be read</strong>, at line {problem.line}: {problem.message}. The form shows the last
        text that could be read; correct the YAML to go on here.
      </p>
    </div>
  );
}

function Restored({ at, onDrop }: { at: number | undefined; onDrop: () => void }) {
  const [shown, setShown] = useState(true);
  if (at === undefined || !shown) return null;
  return (
    <div className="box warn row" role="status" data-testid="restored">
      <p className="grow">Your draft of {new Date(at).toISOString().slice(11, 16)} UTC is restored.</p>
      <button type="button" className="tiny" onClick={onDrop}>
        start over
      </button>
      <button type="button" className="tiny" onClick={() => setShown(false)}>
        keep it
      </button>
    </div>
  );
}

/** A mapping with names of one's own: agents, prices by token, capital by token. */
import { useState } from "react";
import { Prose } from "../../components/Prose";
import { flowText } from "../document/flow";
import { chosenVariant, type JsonSchema, type Shape, type Variant } from "../document/schema";
import { dotted, type Path, type Value } from "../document/values";
import { AddEntry } from "./AddEntry";
import { isChangedHere, problemsAt, useEditor } from "./editor-context";
import { ObjectFields } from "./ObjectFields";
import { ScalarInput } from "./ScalarInput";
import { Reset, ValueField, VariantChooser } from "./ValueField";
import { isVisible, matches } from "./visibility";

interface Props {
  shape: Extract<Shape, { kind: "map" }>;
  path: Path;
  value: Value | undefined;
  found: boolean;
}

const OPEN_UP_TO = 3;

export function MapFields({ shape, path, value, found }: Props) {
  const editor = useEditor();
  const entries = value?.kind === "map" ? value.entries : [];
  const variants = editor.reader.field(shape.value).variants;
  const scalars = variants.every((each) => ["scalar", "choice"].includes(each.shape.kind));
  return (
    <div className="form-map">
      {entries.map(([name, each]) =>
        scalars ? (
          <ScalarEntry key={name} path={[...path, name]} value={each} variants={variants} />
        ) : (
          <Entry
            key={name}
            path={[...path, name]}
            value={each}
            schema={shape.value}
            variants={variants}
            open={entries.length <= OPEN_UP_TO}
            found={found}
          />
        ),
      )}
      {entries.length === 0 && <p className="small">none</p>}
      {!editor.onlyChanged && editor.search === "" && (
        <AddEntry shape={shape} path={path} taken={entries.map(([name]) => name)} variants={variants} />
      )}
    </div>
  );
}

function ScalarEntry({ path, value, variants }: { path: Path; value: Value; variants: Variant[] }) {
  const editor = useEditor();
  const name = String(path.at(-1));
  const shape = variants[0]?.shape;
  const problems = problemsAt(editor, path);
  if (shape?.kind !== "scalar" && shape?.kind !== "choice") return null;
  return (
    <div className={`form-pair${isChangedHere(editor, path) ? " changed" : ""}`}>
      <code>{name}</code>
      <ScalarInput
        path={path}
        value={value}
        shape={shape}
        required
        placeholder=""
        label={dotted(path.slice(-2))}
        invalid={problems.length > 0}
      />
      <Remove path={path} />
      {problems.map((problem, at) => (
        <p key={at} className="problem">
          {problem.message}
        </p>
      ))}
    </div>
  );
}

interface EntryProps {
  path: Path;
  value: Value;
  schema: JsonSchema;
  variants: Variant[];
  open: boolean;
  found: boolean;
}

function Entry({ path, value, schema, variants, open, found }: EntryProps) {
  const editor = useEditor();
  const name = String(path.at(-1));
  if (!isVisible(editor, path, schema, found)) return null;
  const chosen = chosenVariant(variants, value);
  const variant = variants[chosen];
  const wrong = problemsAt(editor, path, true).length;
  const searching = editor.search !== "" || editor.onlyChanged;
  const whole = found || matches(editor, path, schema);
  return (
    <details
      className={`form-entry${isChangedHere(editor, path) ? " changed" : ""}`}
      open={open || searching || wrong > 0}
      data-testid={`entry-${dotted(path)}`}
    >
      <summary>
        <span className="form-entry-name">{name}</span>
        <span className="muted cut">{summary(value, variant)}</span>
        {wrong > 0 && <span className="badge bad">{wrong === 1 ? "1 problem" : `${wrong} problems`}</span>}
      </summary>
      <div className="form-entry-tools">
        {variants.length > 1 && (
          <VariantChooser path={path} variants={variants} chosen={chosen} value={value} label={name} />
        )}
        {variant?.description && (
          <p className="small grow">
            <Prose text={variant.description.split("\n")[0] ?? ""} />
          </p>
        )}
        <Rename path={path} />
        <Remove path={path} />
      </div>
      {variant?.shape.kind === "object" ? (
        <ObjectFields shape={variant.shape} path={path} value={value} found={whole} />
      ) : (
        <ValueField path={path} schema={schema} required found={whole} />
      )}
      {problemsAt(editor, path).map((problem, at) => (
        <p key={at} className="problem">
          {problem.message}
        </p>
      ))}
      <Reset path={path} />
    </details>
  );
}

function summary(value: Value, variant: Variant | undefined): string {
  if (value.kind !== "map") return flowText(value);
  const rest = value.entries
    .filter(([key]) => key !== "kind" && key !== "process")
    .map(([key, each]) => `${key} ${flowText(each)}`);
  const label = variant?.shape.kind === "object" && variant.shape.tag ? variant.label : "";
  return [label, ...rest].filter(Boolean).join(" · ");
}

function Remove({ path }: { path: Path }) {
  const editor = useEditor();
  return (
    <button
      type="button"
      className="tiny"
      aria-label={`remove ${dotted(path)}`}
      onClick={() => editor.set(path, undefined)}
    >
      remove
    </button>
  );
}

function Rename({ path }: { path: Path }) {
  const editor = useEditor();
  const name = String(path.at(-1));
  const [typed, setTyped] = useState<string>();
  if (typed === undefined) {
    return (
      <button type="button" className="tiny" aria-label={`rename ${dotted(path)}`} onClick={() => setTyped(name)}>
        rename
      </button>
    );
  }
  const done = () => {
    if (typed.trim() !== "" && typed !== name) editor.rename(path, typed.trim());
    setTyped(undefined);
  };
  return (
    <input
      type="text"
      // biome-ignore lint/a11y/noAutofocus: it replaces the button that was pressed
      autoFocus
      aria-label={`new name of ${name}`}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={done}
      onKeyDown={(event) => {
        if (event.key === "Enter") {
          event.preventDefault();
          done();
        }
        if (event.key === "Escape") setTyped(undefined);
      }}
    />
  );
}

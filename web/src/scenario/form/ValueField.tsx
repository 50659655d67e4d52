/** One value of the scenario: its name, what it means, an input for the way it is written, and what is wrong. */
import { type ReactNode, useId } from "react";
import { Prose } from "../../components/Prose";
import { flowText } from "../document/flow";
import {
  chosenVariant,
  type JsonSchema,
  offered,
  type Shape,
  shownDefault,
  starter,
  type Variant,
} from "../document/schema";
import { dotted, type Path, toValue, type Value, valueAt } from "../document/values";
import { isChangedHere, problemsAt, useEditor } from "./editor-context";
import { ListFields } from "./ListFields";
import { MapFields } from "./MapFields";
import { ObjectFields } from "./ObjectFields";
import { ScalarInput } from "./ScalarInput";
import { isVisible, matches } from "./visibility";

export interface FieldProps {
  path: Path;
  schema: JsonSchema;
  required?: boolean;
  /** Whether a parent was what the search looked for. */
  found?: boolean;
}

export function ValueField({ path, schema, required = false, found = false }: FieldProps) {
  const editor = useEditor();
  const helpId = useId();
  if (!isVisible(editor, path, schema, found)) return null;
  const field = editor.reader.field(schema);
  const value = valueAt(editor.value, path);
  const chosen = chosenVariant(field.variants, value);
  const variant = field.variants[chosen];
  const simple = isSimple(variant?.shape, editor.reader);
  const problems = problemsAt(editor, path, simple);
  const key = String(path.at(-1));
  const problemId = `${helpId}-problem`;
  const describedBy = problems.length > 0 ? problemId : field.description ? helpId : undefined;
  const placeholder = editor.base && valueAt(editor.base, path) && !value ? "" : shownDefault(field.default);
  const parts = {
    path,
    value,
    required,
    placeholder,
    label: key,
    describedBy,
    invalid: problems.length > 0,
    found: found || matches(editor, path, schema),
  };
  return (
    <div
      className={`form-field${simple ? "" : " wide"}${isChangedHere(editor, path) ? " changed" : ""}`}
      data-path={dotted(path)}
    >
      <div className="form-name">
        <span className="form-key">
          <code>{key}</code>
          {required && (!value || (value.kind === "scalar" && value.isNull)) && (
            <span className="muted"> required</span>
          )}
        </span>
        {field.description && (
          <p className="small" id={helpId}>
            <Prose text={field.description} />
          </p>
        )}
      </div>
      <div className="form-input">
        <div className="form-line">
          {field.variants.length > 1 && (
            <VariantChooser path={path} variants={field.variants} chosen={chosen} value={value} label={key} />
          )}
          {variant && simple && <Input shape={variant.shape} {...parts} />}
          {simple && <Vary path={path} value={value} />}
        </div>
        {variant && !simple && <Input shape={variant.shape} {...parts} />}
        {chosen < 0 && (
          <p className="small">Written as {value ? flowText(value) : "nothing"}: change it in the YAML.</p>
        )}
        {problems.map((problem, at) => (
          <p key={at} className="problem" id={at === 0 ? problemId : undefined}>
            {problem.message}
            {problem.hint && <span className="muted"> {problem.hint}</span>}
          </p>
        ))}
        <Reset path={path} />
      </div>
    </div>
  );
}

interface InputProps {
  shape: Shape;
  path: Path;
  value: Value | undefined;
  required: boolean;
  placeholder: string;
  label: string;
  describedBy?: string;
  invalid: boolean;
  found: boolean;
}

function Input({ shape, found, ...parts }: InputProps): ReactNode {
  switch (shape.kind) {
    case "scalar":
    case "choice":
    case "boolean":
      return <ScalarInput shape={shape} {...parts} />;
    case "object": {
      const only = onlyKey(shape);
      if (only) return <Bare path={[...parts.path, only]} schema={shape.properties[only] ?? {}} found={found} />;
      return <ObjectFields shape={shape} path={parts.path} value={parts.value} found={found} />;
    }
    case "map":
      return <MapFields shape={shape} path={parts.path} value={parts.value} found={found} />;
    case "list":
      return (
        <ListFields shape={shape} path={parts.path} value={parts.value} label={parts.label} invalid={parts.invalid} />
      );
    case "any":
      return (
        <p className="small">
          {parts.value ? <code>{flowText(parts.value)}</code> : "not set"}: change it in the YAML.
        </p>
      );
  }
}

/** The key of a mapping with one key, such as `uniform`: the chooser names it already. */
function onlyKey(shape: Extract<Shape, { kind: "object" }>): string | undefined {
  const keys = Object.keys(shape.properties);
  return keys.length === 1 && shape.required[0] === keys[0] ? keys[0] : undefined;
}

function Bare({ path, schema, found }: FieldProps) {
  const editor = useEditor();
  const field = editor.reader.field(schema);
  const value = valueAt(editor.value, path);
  const chosen = chosenVariant(field.variants, value);
  const variant = field.variants[chosen];
  const label = String(path.at(-1));
  const problems = problemsAt(editor, path, isSimple(variant?.shape, editor.reader));
  const parts = {
    path,
    value,
    required: true,
    placeholder: "",
    label,
    invalid: problems.length > 0,
    found: found ?? false,
  };
  return (
    <>
      <div className="form-line">
        {field.variants.length > 1 && (
          <VariantChooser path={path} variants={field.variants} chosen={chosen} value={value} label={label} />
        )}
        {variant && <Input shape={variant.shape} {...parts} />}
      </div>
      {problems.map((problem, at) => (
        <p key={at} className="problem">
          {problem.message}
        </p>
      ))}
    </>
  );
}

/** Whether the value fits into one line: a scalar, or a list of scalars. */
function isSimple(
  shape: Shape | undefined,
  reader: { field: (schema: JsonSchema) => { variants: Variant[] } },
): boolean {
  if (!shape) return true;
  if (shape.kind === "list")
    return reader.field(shape.item).variants.every((each) => ["scalar", "choice"].includes(each.shape.kind));
  return ["scalar", "choice", "boolean"].includes(shape.kind);
}

interface ChooserProps {
  path: Path;
  variants: Variant[];
  chosen: number;
  value: Value | undefined;
  label: string;
}

/** Choose how a value is written: which process, which distribution, one value or one by name. */
export function VariantChooser({ path, variants, chosen, value, label }: ChooserProps) {
  const editor = useEditor();
  return (
    <select
      className="variant"
      aria-label={`form of ${label}`}
      data-testid={`variant-${dotted(path)}`}
      value={chosen}
      onFocus={() => editor.focus(path)}
      onChange={(event) => {
        const next = variants[Number(event.target.value)];
        if (next) editor.set(path, toValue(starter(editor.reader, next.shape, value)));
      }}
    >
      {chosen < 0 && <option value={-1}>other</option>}
      {offered(variants, chosen).map((index) => (
        <option key={index} value={index}>
          {variants[index]?.label}
        </option>
      ))}
    </select>
  );
}

function Vary({ path, value }: { path: Path; value: Value | undefined }) {
  const editor = useEditor();
  if (!editor.vary || value?.kind !== "scalar") return null;
  const varied = editor.varied.has(dotted(path));
  return (
    <button
      type="button"
      className="tiny"
      disabled={varied}
      onClick={() => editor.vary?.(path)}
      aria-label={`vary ${dotted(path)}`}
    >
      {varied ? "varied" : "vary"}
    </button>
  );
}

/** What the value was before it was changed, and the way back. */
export function Reset({ path }: { path: Path }) {
  const editor = useEditor();
  if (!isChangedHere(editor, path)) return null;
  const before = valueAt(editor.base, path);
  const shown = before === undefined ? "not set" : flowText(before);
  return (
    <p className="form-reset">
      <span className="muted">was </span>
      <code title={shown}>{shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}</code>
      <button
        type="button"
        className="tiny"
        onClick={() => editor.set(path, before)}
        aria-label={`reset ${dotted(path)}`}
      >
        reset
      </button>
    </p>
  );
}

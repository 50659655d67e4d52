/** Inputs of single values. What is typed reaches the document with every key; an emptied optional value is removed. */
import { useEffect, useId, useState } from "react";
import { readsAsOther } from "../document/flow";
import type { Shape } from "../document/schema";
import { dotted, NOTHING, type Path, scalar, type Value } from "../document/values";
import { useEditor } from "./editor-context";

interface Props {
  path: Path;
  value: Value | undefined;
  shape: Extract<Shape, { kind: "scalar" | "choice" | "boolean" }>;
  required: boolean;
  placeholder: string;
  label: string;
  describedBy?: string;
  invalid: boolean;
}

export function ScalarInput(props: Props) {
  const { path, value, shape, required, placeholder, label, describedBy, invalid } = props;
  const editor = useEditor();
  const list = useId();
  const known = value?.kind === "scalar" && !value.isNull ? value.text : "";
  const [typed, setTyped] = useState(known);
  useEffect(() => setTyped(known), [known]);

  function write(text: string) {
    setTyped(text);
    if (text.trim() === "") editor.set(path, required ? NOTHING : undefined);
    else
      editor.set(path, {
        ...scalar(text),
        quoted: shape.kind === "scalar" && shape.input === "text" && quotes(text, value),
      });
  }
  const common = {
    "aria-label": label,
    "aria-describedby": describedBy,
    "aria-invalid": invalid || undefined,
    "data-testid": `field-${dotted(path)}`,
    onFocus: () => editor.focus(path),
  };
  if (shape.kind !== "scalar") {
    const options = shape.kind === "boolean" ? ["true", "false"] : optionsOf(shape.options, path, editor.chains);
    return (
      <select {...common} value={typed} onChange={(event) => write(event.target.value)}>
        {(!required || typed === "") && (
          <option value="">{placeholder ? `${placeholder} (default)` : "not set"}</option>
        )}
        {options.map((each) => (
          <option key={each}>{each}</option>
        ))}
        {typed !== "" && !options.includes(typed) && <option>{typed}</option>}
      </select>
    );
  }
  if (known.includes("\n")) {
    return (
      <textarea {...common} rows={6} className="mono" value={typed} onChange={(event) => write(event.target.value)} />
    );
  }
  const options = shape.options ?? [];
  return (
    <>
      <input
        {...common}
        type="text"
        inputMode={shape.input === "integer" ? "numeric" : undefined}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        placeholder={placeholder}
        list={options.length > 0 ? list : undefined}
        onChange={(event) => write(event.target.value)}
        onBlur={() => setTyped(known)}
      />
      {options.length > 0 && (
        <datalist id={list}>
          {options.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** A text that looks like a number stays a text where it was one. */
function quotes(text: string, value: Value | undefined): boolean {
  return readsAsOther(text) && value?.kind === "scalar" && value.quoted;
}

function optionsOf(all: string[], path: Path, chains: string[]): string[] {
  return path.length === 1 && path[0] === "chain" && chains.length > 0 ? chains : all;
}

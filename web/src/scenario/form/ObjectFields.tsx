/** The keys of a mapping with fixed names: what is set or required first, the rest on demand. */

import type { Shape } from "../document/schema";
import { childOf, type Path, type Value } from "../document/values";
import { useEditor } from "./editor-context";
import { ValueField } from "./ValueField";

interface Props {
  shape: Extract<Shape, { kind: "object" }>;
  path: Path;
  value: Value | undefined;
  found: boolean;
}

export function ObjectFields({ shape, path, value, found }: Props) {
  const editor = useEditor();
  const keys = Object.keys(shape.properties).filter((key) => key !== shape.tag);
  const shown = keys.filter((key) => childOf(value, key) !== undefined || shape.required.includes(key));
  const others = keys.filter((key) => !shown.includes(key));
  const unknown =
    value?.kind === "map" ? value.entries.map(([key]) => key).filter((key) => !(key in shape.properties)) : [];
  const all = editor.search !== "";
  const row = (key: string) => (
    <ValueField
      key={key}
      path={[...path, key]}
      schema={shape.properties[key] ?? {}}
      required={shape.required.includes(key)}
      found={found}
    />
  );
  return (
    <div className="form-fields">
      {order(shown, value).map(row)}
      {unknown.map((key) => (
        <p key={key} className="problem">
          <code>{key}</code> is no key here{" "}
          <button type="button" className="tiny" onClick={() => editor.set([...path, key], undefined)}>
            remove
          </button>
        </p>
      ))}
      {all && others.map(row)}
      {!all && !editor.onlyChanged && others.length > 0 && (
        <details className="fold more">
          <summary>
            {others.length === 1 ? "1 more setting" : `${others.length} more settings`}
            <span className="muted">
              : {others.slice(0, 4).join(", ")}
              {others.length > 4 ? " …" : ""}
            </span>
          </summary>
          <div className="form-fields">{others.map(row)}</div>
        </details>
      )}
    </div>
  );
}

/** Keys in the order of the text, then the others. */
function order(keys: string[], value: Value | undefined): string[] {
  const written = value?.kind === "map" ? value.entries.map(([key]) => key) : [];
  const place = (key: string) => (written.includes(key) ? written.indexOf(key) : written.length);
  return [...keys].sort((a, b) => place(a) - place(b));
}

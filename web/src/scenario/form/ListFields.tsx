/** A list: its items in one line, or several chosen from a few. */

import { flowText } from "../document/flow";
import type { Shape } from "../document/schema";
import { dotted, type ListValue, NOTHING, type Path, scalar, type Value } from "../document/values";
import { useEditor } from "./editor-context";
import { ScalarInput } from "./ScalarInput";

interface Props {
  shape: Extract<Shape, { kind: "list" }>;
  path: Path;
  value: Value | undefined;
  label: string;
  invalid: boolean;
}

export function ListFields({ shape, path, value, label, invalid }: Props) {
  const editor = useEditor();
  const items = value?.kind === "list" ? value.items : [];
  const item = editor.reader.field(shape.item).variants[0]?.shape;
  if (item?.kind === "choice") return <Choices options={item.options} items={items} path={path} label={label} />;
  if (item?.kind !== "scalar") {
    return <p className="small">{value ? <code>{flowText(value)}</code> : "not set"}: change it in the YAML.</p>;
  }
  const count = Math.max(items.length, shape.length ?? 0);
  const padded: ListValue = { kind: "list", items: Array.from({ length: count }, (_, at) => items[at] ?? NOTHING) };
  return (
    <span className="form-list">
      {padded.items.map((each, at) => (
        <span key={at} className="form-item">
          {items.length > at ? (
            <ScalarInput
              path={[...path, at]}
              value={each}
              shape={item}
              required
              placeholder=""
              label={`${label} ${at + 1}`}
              invalid={invalid}
            />
          ) : (
            <input
              type="text"
              aria-label={`${label} ${at + 1}`}
              data-testid={`field-${dotted([...path, at])}`}
              defaultValue=""
              onFocus={() => editor.focus(path)}
              onChange={(event) =>
                editor.set(path, {
                  kind: "list",
                  items: padded.items.map((old, index) => (index === at ? scalar(event.target.value) : old)),
                })
              }
            />
          )}
          {shape.length === undefined && (
            <button
              type="button"
              className="tiny"
              aria-label={`remove ${label} ${at + 1}`}
              onClick={() => editor.set([...path, at], undefined)}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {shape.length === undefined && (
        <button
          type="button"
          className="tiny"
          aria-label={`+ add to ${label}`}
          onClick={() => editor.set(path, { kind: "list", items: [...items, NOTHING] })}
        >
          + add
        </button>
      )}
    </span>
  );
}

function Choices({ options, items, path, label }: { options: string[]; items: Value[]; path: Path; label: string }) {
  const editor = useEditor();
  const chosen = items.flatMap((each) => (each.kind === "scalar" ? [each.text] : []));
  return (
    <fieldset className="form-choices">
      <legend className="sr">{label}</legend>
      {options.map((each) => (
        <label key={each}>
          <input
            type="checkbox"
            checked={chosen.includes(each)}
            onFocus={() => editor.focus(path)}
            onChange={(event) => {
              const next = event.target.checked
                ? options.filter((name) => name === each || chosen.includes(name))
                : chosen.filter((name) => name !== each);
              editor.set(path, next.length > 0 ? { kind: "list", items: next.map(scalar) } : undefined);
            }}
          />
          {each}
        </label>
      ))}
    </fieldset>
  );
}

/** Add an entry to a mapping: its name and, where there are several, its kind. */
import { useId, useState } from "react";
import { offered, type Shape, starter, type Variant } from "../document/schema";
import { dotted, type Path, toValue } from "../document/values";
import { useEditor } from "./editor-context";

export function AddEntry({
  shape,
  path,
  taken,
  variants,
}: {
  shape: Extract<Shape, { kind: "map" }>;
  path: Path;
  taken: string[];
  variants: Variant[];
}) {
  const editor = useEditor();
  const id = useId();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState(() => offered(variants, -1)[0] ?? 0);
  const what = String(path.at(-1));
  const names = (shape.names ?? []).filter((each) => !taken.includes(each));
  const problem = taken.includes(name.trim()) ? `there is a ${name.trim()} already` : undefined;
  if (!open) {
    return (
      <button
        type="button"
        className="tiny"
        onClick={() => setOpen(true)}
        aria-label={`+ add ${ONE[what] ?? "an entry"} to ${what}`}
        data-testid={`add-${dotted(path)}`}
      >
        + add {ONE[what] ?? "an entry"}
      </button>
    );
  }
  const add = () => {
    const shapeOf = variants[chosen]?.shape;
    if (!name.trim() || problem || !shapeOf) return;
    editor.set([...path, name.trim()], toValue(starter(editor.reader, shapeOf)));
    setOpen(false);
    setName("");
  };
  return (
    <div className="form-add">
      <input
        type="text"
        // biome-ignore lint/a11y/noAutofocus: it replaces the button that was pressed
        autoFocus
        aria-label={`name of the new entry of ${what}`}
        placeholder={PLACEHOLDER[what] ?? "name"}
        value={name}
        list={names.length > 0 ? id : undefined}
        aria-invalid={problem ? true : undefined}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            add();
          }
          if (event.key === "Escape") setOpen(false);
        }}
      />
      {names.length > 0 && (
        <datalist id={id}>
          {names.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {variants.length > 1 && (
        <select
          aria-label="kind of the new entry"
          value={chosen}
          onChange={(event) => setChosen(Number(event.target.value))}
        >
          {offered(variants, -1).map((index) => (
            <option key={index} value={index}>
              {variants[index]?.label}
            </option>
          ))}
        </select>
      )}
      <button type="button" onClick={add} disabled={!name.trim() || problem !== undefined}>
        Add
      </button>
      <button type="button" className="quiet" onClick={() => setOpen(false)}>
        Cancel
      </button>
      {problem && <p className="problem">{problem}</p>}
    </div>
  );
}

const ONE: Record<string, string> = {
  agents: "an agent",
  prices: "a price",
  tokens: "a token",
  pools: "a pool",
  curve_pools: "a Curve pool",
  parameters: "a parameter change",
  capital: "a token",
  correlations: "a correlation",
};
const PLACEHOLDER: Record<string, string> = {
  agents: "borrowers",
  prices: "WETH",
  tokens: "NOVA",
  pools: "NOVA/USDC.3000",
  curve_pools: "name",
  parameters: "aave_v3.WETH",
  capital: "USDC",
  correlations: "WETH/WBTC",
};

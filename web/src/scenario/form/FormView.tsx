/** The form: groups of fields, with a search over keys and a filter for what was changed. */
import { useRef, useState } from "react";
import { useShortcuts } from "../../lib/keys";
import { childOf } from "../document/values";
import { type Editor, EditorContext, isChanged, problemsAt } from "./editor-context";
import { type Group, groupsFor } from "./groups";
import { ValueField } from "./ValueField";
import { isVisible } from "./visibility";

type Shared = Omit<Editor, "search" | "onlyChanged">;

export function FormView({ shared, disabled }: { shared: Shared; disabled: boolean }) {
  const [typed, setTyped] = useState("");
  const [onlyChanged, setOnlyChanged] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  useShortcuts([{ keys: "/", text: "search the keys", run: () => search.current?.focus() }]);
  const editor: Editor = { ...shared, search: typed.trim().toLowerCase(), onlyChanged };
  const properties = editor.reader.root.properties ?? {};
  // The seeds of a sweep stand above the form.
  const groups = groupsFor(Object.keys(properties).filter((key) => !(editor.vary && key === "seed")));
  const shown = groups.filter((group) => group.keys.some((key) => isVisible(editor, [key], properties[key] ?? {})));
  return (
    <EditorContext value={editor}>
      <div className="form-tools">
        <input
          ref={search}
          type="search"
          placeholder="Search keys, meanings, values …"
          aria-label="Search the keys of the scenario"
          data-testid="search-keys"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setTyped("")}
        />
        <label className="nowrap">
          <input type="checkbox" checked={onlyChanged} onChange={(event) => setOnlyChanged(event.target.checked)} />{" "}
          only changed
        </label>
      </div>
      <fieldset className="form-all" disabled={disabled} data-testid="scenario-form">
        <legend className="sr">Scenario</legend>
        {shown.map((group) => (
          <GroupView key={group.id} group={group} editor={editor} />
        ))}
        {shown.length === 0 && (
          <p className="state">
            {onlyChanged && typed === "" ? "Nothing is changed yet." : `No key, meaning or value matches “${typed}”.`}
          </p>
        )}
      </fieldset>
    </EditorContext>
  );
}

function GroupView({ group, editor }: { group: Group; editor: Editor }) {
  const properties = editor.reader.root.properties ?? {};
  const required = editor.reader.root.required ?? [];
  const set = group.keys.some((key) => childOf(editor.value, key) !== undefined);
  const wrong = group.keys.reduce((sum, key) => sum + problemsAt(editor, [key], true).length, 0);
  const changed = group.keys.filter((key) => isChanged(editor, [key])).length;
  const open =
    !group.advanced ||
    editor.search !== "" ||
    editor.onlyChanged ||
    wrong > 0 ||
    (set && group.id !== "about" && group.id !== "execution");
  const only = group.keys.length === 1 ? group.keys[0] : undefined;
  const fields = only ? (
    <ValueField path={[only]} schema={properties[only] ?? {}} required={required.includes(only)} />
  ) : (
    group.keys.map((key) => (
      <ValueField key={key} path={[key]} schema={properties[key] ?? {}} required={required.includes(key)} />
    ))
  );
  return (
    <details className={`form-group${only ? " single" : ""}`} open={open} data-testid={`group-${group.id}`}>
      <summary>
        <h2>{group.title}</h2>
        <span className="muted small grow">{group.lead}</span>
        {changed > 0 && <span className="badge accent">changed</span>}
        {wrong > 0 && <span className="badge bad">{wrong === 1 ? "1 problem" : `${wrong} problems`}</span>}
      </summary>
      <div className="form-fields">{fields}</div>
    </details>
  );
}

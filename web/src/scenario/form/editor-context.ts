/** What the fields of the form share: the document, how to change it, and what is wrong with it. */

import { createContext, useContext } from "react";
import type { Problem } from "../../api/types";
import type { SchemaReader } from "../document/schema";
import { dotted, type Path, sameValue, type Value, valueAt } from "../document/values";

export interface Editor {
  reader: SchemaReader;
  /** Values of the last text without errors. */
  value: Value;
  /** Values that one started from: marks and resets compare with them. */
  base: Value | undefined;
  /** Dotted paths that were set, added or removed; their parents and parts are not among them. */
  changed: Set<string>;
  problems: Problem[];
  /** Words of the search, in lower case; empty shows all. */
  search: string;
  onlyChanged: boolean;
  chains: string[];
  set: (path: Path, next: Value | undefined) => void;
  rename: (path: Path, name: string) => void;
  focus: (path: Path) => void;
  /** Sweeps only: try several values of a key. */
  vary?: (path: Path) => void;
  varied: Set<string>;
}

export const EditorContext = createContext<Editor | null>(null);

export function useEditor(): Editor {
  const editor = useContext(EditorContext);
  if (!editor) throw new Error("a field of the form stands outside of it");
  return editor;
}

export function isChanged({ value, base }: Editor, path: Path): boolean {
  return base !== undefined && !sameValue(valueAt(value, path), valueAt(base, path));
}

/** Whether this value itself was changed, and can be reset: not only a part of it, and not all around it. */
export function isChangedHere({ changed }: Editor, path: Path): boolean {
  return changed.has(dotted(path));
}

/** Problems of the value at `path`; `inside` adds those of its parts. */
export function problemsAt({ problems }: Editor, path: Path, inside = false): Problem[] {
  const here = dotted(path);
  return problems.filter(({ field }) => field === here || (inside && field?.startsWith(`${here}.`)));
}

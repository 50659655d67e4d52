/** Keyboard shortcuts of the page: one listener, and what the help dialog lists. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Shortcut {
  keys: string;
  text: string;
  run: (event: KeyboardEvent) => void;
}

const shortcuts = new Map<symbol, { current: Shortcut[] }>();
const listeners = new Set<() => void>();
let listed: Shortcut[] = [];

function changed(): void {
  listed = [...shortcuts.values()].flatMap((each) => each.current);
  for (const each of listeners) each();
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest("input:not([type=checkbox]), select, textarea, [contenteditable], dialog") !== null
  );
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
  const found = [...shortcuts.values()]
    .reverse()
    .flatMap((each) => each.current)
    .find((each) => each.keys === event.key);
  if (!found) return;
  event.preventDefault();
  found.run(event);
});

/** Register shortcuts while the component is mounted. Give them new each time: the latest are used. */
export function useShortcuts(own: Shortcut[]): void {
  const latest = useRef(own);
  latest.current = own;
  useEffect(() => {
    const name = Symbol("shortcuts");
    shortcuts.set(name, latest);
    changed();
    return () => {
      shortcuts.delete(name);
      changed();
    };
  }, []);
}

export function useListedShortcuts(): Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => listed,
  );
}

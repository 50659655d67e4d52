/** The theme: of the system, light or dark; and the values of colour tokens for charts. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const NAMES: Theme[] = ["system", "light", "dark"];
const STORED = "mayavi-theme";
const root = document.documentElement;
const listeners = new Set<() => void>();
const system = window.matchMedia("(prefers-color-scheme: dark)");

function current(): Theme {
  const set = root.dataset.theme;
  return set === "light" || set === "dark" ? set : "system";
}

function changed(): void {
  for (const each of listeners) each();
}
system.addEventListener("change", changed);

export function nextTheme(): void {
  const next = NAMES[(NAMES.indexOf(current()) + 1) % NAMES.length] ?? "system";
  if (next === "system") delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    localStorage.setItem(STORED, next);
  } catch {
    // storage is off: the theme holds until the page is left
  }
  changed();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

/** Return `light` or `dark`: what the page shows now. */
export function useShownTheme(): "light" | "dark" {
  return useSyncExternalStore(subscribe, shown);
}

function shown(): "light" | "dark" {
  const theme = current();
  return theme === "system" ? (system.matches ? "dark" : "light") : theme;
}

type Scale = [number, string][];

/** Return the colour of a token: `$1` the first colour, `$1/20` with 20 % opacity, `$ink`, `$scale`, `$diverging`. */
export function colours(): (token: string) => string | Scale {
  const style = getComputedStyle(root);
  const read = (name: string) => {
    const text = style.getPropertyValue(`--${name}`).trim();
    const both = /^light-dark\((.+), ?([^,]+)\)$/.exec(text); // what a property says, not what it means here
    return (both ? both[shown() === "light" ? 1 : 2] : text) ?? text;
  };
  return (token) => {
    if (token === "$scale")
      return [
        [0, read("h0")],
        [1, read("h1")],
      ];
    if (token === "$diverging")
      return [
        [0, read("neg")],
        [0.5, read("h0")],
        [1, read("h1")],
      ];
    const [name = "", opacity] = token.slice(1).split("/");
    const found = read(/^[0-9]$/.test(name) ? `c${name}` : name);
    return opacity === undefined
      ? found
      : found +
          Math.round(Number(opacity) * 2.55)
            .toString(16)
            .padStart(2, "0");
  };
}

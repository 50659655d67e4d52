import { useEffect, useRef, useState } from "react";
import { useShortcuts } from "../lib/keys";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  /** Whether `/` moves the focus here. */
  shortcut?: boolean;
}

/** A search field that reports what was typed after a short pause. */
export function SearchField({ label, value, onChange, placeholder, shortcut = true }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(value);
  const told = useRef(value);
  const report = useRef(onChange);
  report.current = onChange;
  useEffect(() => {
    if (value === told.current) return; // changed from outside: the back button, a link
    told.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === told.current) return;
    const timer = window.setTimeout(() => {
      told.current = typed;
      report.current(typed);
    }, 200);
    return () => window.clearTimeout(timer);
  }, [typed]);
  return (
    <>
      {shortcut && <SearchKey onPress={() => field.current?.select()} />}
      <input
        ref={field}
        type="search"
        className="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={typed}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      />
    </>
  );
}

function SearchKey({ onPress }: { onPress: () => void }) {
  useShortcuts([{ keys: "/", text: "search", run: onPress }]);
  return null;
}

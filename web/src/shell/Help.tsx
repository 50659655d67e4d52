import { useEffect, useRef } from "react";
import { useListedShortcuts } from "../lib/keys";

/** The keys of the page. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shortcuts = useListedShortcuts();
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={onClose} data-testid="help">
      <h2 id="help-title">Keyboard</h2>
      <dl className="keys">
        {shortcuts.map((each, at) => (
          <div key={at} style={{ display: "contents" }}>
            <dt>
              {each.keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{each.text}</dd>
          </div>
        ))}
        <dt>
          <kbd>Enter</kbd>
        </dt>
        <dd>open the row</dd>
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

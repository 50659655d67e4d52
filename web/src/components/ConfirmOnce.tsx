import { type ReactNode, useEffect, useRef, useState } from "react";

interface Props {
  children: ReactNode;
  /** Label of the second press: says what will happen. */
  question: string;
  onConfirm: () => void;
  disabled?: boolean;
  className?: string;
}

/** A button that asks once: the first press changes its label, the second within five seconds acts. */
export function ConfirmOnce({ children, question, onConfirm, disabled, className = "danger" }: Props) {
  const [asked, setAsked] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  function press() {
    window.clearTimeout(timer.current);
    if (asked) {
      setAsked(false);
      onConfirm();
      return;
    }
    setAsked(true);
    timer.current = window.setTimeout(() => setAsked(false), 5_000);
  }
  return (
    <button
      type="button"
      className={className}
      disabled={disabled}
      onClick={press}
      onKeyDown={(event) => event.key === "Escape" && setAsked(false)}
      onBlur={() => setAsked(false)}
    >
      <span aria-live="polite">{asked ? question : children}</span>
    </button>
  );
}

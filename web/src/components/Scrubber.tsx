import { useState } from "react";
import type { ScrubberBlock } from "../api/types";
import { count, formatCell, utc } from "../lib/format";

interface Props {
  block: ScrubberBlock;
  /** The chosen step, where the page keeps it; by default the last. */
  step?: number;
  onStep?: (step: number) => void;
}

/** A slider over the steps of a run, with the figures of the chosen step. Arrow keys move it. */
export function Scrubber({ block, step, onStep }: Props) {
  const last = block.steps.length - 1;
  const [own, setOwn] = useState(last);
  if (last < 0) return null;
  const asked = step === undefined ? own : block.steps.findLastIndex((each) => each <= step);
  const at = Math.max(0, Math.min(last, asked));
  function choose(place: number) {
    const next = Math.max(0, Math.min(last, place));
    setOwn(next);
    onStep?.(block.steps[next] ?? 0);
  }
  const number = block.steps[at] ?? 0;
  const label = number < 0 ? "Before the first step" : `Step ${count(number)}`;
  const acts = block.actions.length ? ` · ${count(block.actions[at])} actions, ${count(block.failed[at])} failed` : "";
  const where = `${label} · block ${count(block.blocks[at])} · ${utc(block.timestamps[at])}${acts}`;
  return (
    <div className="scrubber" data-testid="scrubber">
      <div className="scrub-line">
        <button type="button" aria-label="Previous step" disabled={at === 0} onClick={() => choose(at - 1)}>
          ◀
        </button>
        <input
          type="range"
          className="grow"
          min={0}
          max={last}
          value={at}
          step={1}
          aria-label="Step of the run"
          aria-valuetext={where}
          onChange={(event) => choose(Number(event.target.value))}
        />
        <button type="button" aria-label="Next step" disabled={at === last} onClick={() => choose(at + 1)}>
          ▶
        </button>
      </div>
      <p className="scrub-where num">{where}</p>
      <dl className="scrub-figures">
        {block.figures.map(([name, format, values], index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{formatCell(values[at], format)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

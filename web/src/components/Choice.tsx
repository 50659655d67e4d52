interface Props {
  label: string;
  value: string;
  options: readonly (string | { value: string; label: string })[];
  onChange: (value: string) => void;
  /** Text of the empty choice. */
  all: string;
}

/** A filter with one choice or none. */
export function Choice({ label, value, options, onChange, all }: Props) {
  const known = options.map((each) => (typeof each === "string" ? { value: each, label: each } : each));
  if (value && !known.some((each) => each.value === value)) known.push({ value, label: value });
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)} className="choice">
      <option value="">{all}</option>
      {known.map((each) => (
        <option key={each.value} value={each.value}>
          {each.label}
        </option>
      ))}
    </select>
  );
}

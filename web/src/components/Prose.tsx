/** Plain text with `code` in backticks. */
export function Prose({ text }: { text: string }) {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));
}

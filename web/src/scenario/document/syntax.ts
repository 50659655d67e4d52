/** What is wrong with a YAML text, in words of somebody who writes scenarios and not parsers. */

const WORDS: Record<string, string> = {
  BAD_DQ_ESCAPE: "the backslash begins nothing that YAML knows: use single quotes",
  BAD_INDENT: "the line is not indented like those around it",
  BAD_SCALAR_START: "a text cannot begin with this character: put it into quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "a second key cannot follow on this line: give it a line of its own, or put the text into quotes",
  DUPLICATE_KEY: "the key is given twice",
  MULTILINE_IMPLICIT_KEY: "a colon is missing after the key",
  MULTIPLE_DOCS: "a second document begins here: remove the line ---",
  TAB_AS_INDENT: "lines are indented with spaces, not with tabs",
  UNEXPECTED_TOKEN: "this does not belong here: check the indentation, and the line before",
};

/** Say a problem of the parser by its code; what has no words of ours keeps the parser's, without the place. */
export function inWords(code: string, message: string): string {
  const text = message.replace(/ at line \d+, column \d+:?[\s\S]*$/, "");
  if (/^Flow sequence/.test(text)) return "a list that begins with [ before has no ] at its end";
  if (/^Flow map/.test(text)) return "a mapping that begins with { before has no } at its end";
  if (/^Missing closing .*quote/.test(text)) return "a text in quotes has no quote at its end";
  return WORDS[code] ?? `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

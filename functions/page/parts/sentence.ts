/** What a program says within a line, as a sentence of its own. */
export function sentence(words: string): string {
  if (words === "") return "";
  const [first = "", ...rest] = words.split(/(?<=^.)/su);
  const text = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

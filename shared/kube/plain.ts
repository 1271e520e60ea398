/** Words of another party, made harmless: no character that a terminal or a browser obeys, or that hides or turns what follows. */

/** Controls, formats such as those that turn the direction of text, and separators of lines and paragraphs. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text in one line, with `instead` for each such character. */
export function plain(text: string, instead = " "): string {
  return text.toWellFormed().replaceAll("\n", " ").replaceAll(OBEYED, instead);
}

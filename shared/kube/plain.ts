/** Removes characters from foreign text that could control a terminal or a browser, or hide or reverse text. */

/** Control characters, format characters, and separators of lines and paragraphs. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text in one line. Replaces each dangerous character with `instead`. */
export function plain(text: string, instead = " "): string {
  return text.toWellFormed().replaceAll("\n", " ").replaceAll(OBEYED, instead);
}

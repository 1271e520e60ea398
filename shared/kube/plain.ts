/**
 * Makes another party's text harmless: removes characters that control a terminal or a browser, or hide or reverse
 * text.
 */

/**
 * Control characters, format characters (for example, to reverse the direction of text), and separators of lines and
 * paragraphs.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text in one line, with `instead` in place of each character that could do harm. */
export function plain(text: string, instead = " "): string {
  return text.toWellFormed().replaceAll("\n", " ").replaceAll(OBEYED, instead);
}

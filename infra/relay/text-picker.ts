/** Finds a few strings in JSON that arrives in pieces. */

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];
/** The maximum length of a string to find. Names, UIDs and versions are shorter. */
const LONGEST_TEXT = 1024;

interface Level {
  readonly isObject: boolean;
  key: string;
}

/** Finds the strings at paths such as `object.metadata.name`. Ignores strings inside a list. */
export class TextPicker {
  readonly found = new Map<string, string>();
  readonly #paths: ReadonlySet<string>;
  readonly #deepest: number;
  readonly #levels: Level[] = [];
  #text: number[] | undefined;
  #isEscaped = false;
  #isKey = false;

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths);
    this.#deepest = Math.max(...paths.map((path) => path.split(".").length));
  }

  take(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#text === undefined) this.#takeOutside(byte);
      else this.#takeInside(byte, this.#text);
    }
  }

  #takeInside(byte: number, text: number[]): void {
    if (byte === QUOTE && !this.#isEscaped) return this.#endText(text);
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (this.#levels.length <= this.#deepest && text.length <= LONGEST_TEXT) text.push(byte);
  }

  #takeOutside(byte: number): void {
    if (byte === QUOTE) this.#text = [];
    else if (byte === OBJECT || byte === LIST) this.#begin(byte === OBJECT);
    else if (byte === OBJECT_END || byte === LIST_END) this.#levels.pop();
    else if (byte === COMMA) this.#isKey = this.#levels.at(-1)?.isObject === true;
    else if (byte === COLON) this.#isKey = false;
  }

  #begin(isObject: boolean): void {
    this.#levels.push({ isObject, key: "" });
    this.#isKey = isObject;
  }

  #endText(text: number[]): void {
    this.#text = undefined;
    const level = this.#levels.at(-1);
    if (level === undefined || this.#levels.length > this.#deepest || text.length > LONGEST_TEXT) return;
    const read = () => String(JSON.parse(`"${new TextDecoder().decode(Uint8Array.from(text))}"`));
    if (this.#isKey) {
      level.key = read();
      return;
    }
    const path = this.#levels.map(({ key }) => key).join(".");
    if (level.isObject && this.#paths.has(path)) this.found.set(path, read());
  }
}

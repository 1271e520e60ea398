/**
 * Substitutes a name for each value that differs between runs. For example, `<uid 1>` is the first UID in the answers.
 */

const UID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
const TIME = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Numbers are replaced only in the fields that `NAMED` lists. */
const NUMBER = /^\d+$/;
const AGE = /^(?:\d+s|<invalid>)$/;
const PORT = /127\.0\.0\.1:\d{4,5}(?!\d)/g;
const VERSION = /(?<=in (?:record|the precondition) \(|resourceVersion\\*":\\*")\d+/g;
/** The path of a source file in an error message. It differs between builds of the server. */
const SCHEME = /(?<=in scheme ")[^"]+/;
const CURRENT = /(?<=, current: )\d+/;
const HASH = /\.[0-9a-f]{16}$/;
const NAME = /<(?:\w+ \d+|hook|ca)>/g;
/** Only times within 48 hours of now are replaced. Times in the requests of scenarios must be further away. */
const RECENT_MS = 48 * 3_600_000;
/** Maps a field to the first word of the text that replaces its value. A resourceVersion becomes `<version 1>`. */
const NAMED: Readonly<Record<string, string>> = {
  resourceVersion: "version",
  listVersion: "list",
  continue: "continue",
  token: "token",
};
/** A long text of the letter x. The recording contains its length, for example `<x 100000>`. */
const LONG = /x{10000,}/g;

export class Names {
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** `values` contains the values that are known before the first request, keyed by name. */
  constructor(values: Readonly<Record<string, string>>) {
    for (const [name, value] of Object.entries(values)) this.#know(name, value);
  }

  nameOf(kind: string, value: string): string {
    const key = kind === "list" ? `list ${value}` : value;
    const known = kind === "continue" ? undefined : this.#names.get(key);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return this.#know(`<${kind} ${count}>`, value, key);
  }

  #know(name: string, value: string, key = value): string {
    this.#names.set(key, name);
    this.#values.set(name, value);
    return name;
  }

  /** Substitutes a name for each value that differs between runs. */
  shown(value: unknown, field = ""): unknown {
    if (typeof value === "string") return this.#shownText(value, field);
    if (Array.isArray(value)) {
      const items =
        field === "causes"
          ? value.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)))
          : value;
      return items.map((item: unknown) => this.shown(item, field));
    }
    if (typeof value !== "object" || value === null) return value ?? null;
    const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries.map(([key, item]) => [this.#shownText(key, ""), this.shown(item, key)]));
  }

  #shownText(text: string, field: string): string {
    const kind = NAMED[field];
    if (kind !== undefined && text !== "") return this.nameOf(kind, text);
    const known = NUMBER.test(text) ? undefined : this.#names.get(text);
    if (known !== undefined) return known;
    if (AGE.test(text)) return "<age>";
    return text
      .replaceAll(LONG, (run) => `<x ${run.length}>`)
      .replaceAll(UID, (uid) => this.nameOf("uid", uid))
      .replaceAll(TIME, (time) => (Math.abs(Date.now() - Date.parse(time)) < RECENT_MS ? "<time>" : time))
      .replace(SCHEME, "<scheme>")
      .replace(CURRENT, "<version>")
      .replace(HASH, ".<hash>")
      .replaceAll(PORT, "127.0.0.1:<port>")
      .replaceAll(VERSION, (version) => this.nameOf("version", version));
  }

  /** Replaces the names in a request with the values for which they stand. */
  filled<T>(value: T): T {
    const text = JSON.stringify(value).replaceAll(NAME, (name) => {
      const [, times] = name.match(/^<x (\d+)>$/) ?? [];
      const actual = times === undefined ? this.#values.get(name) : "x".repeat(Number(times));
      return actual === undefined ? name : JSON.stringify(actual).slice(1, -1);
    });
    return JSON.parse(text);
  }
}

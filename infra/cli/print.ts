/** Prints tables, JSON, YAML and names, as kubectl does. */
import { dump } from "js-yaml";
import { plain as harmless } from "../../shared/kube/plain.ts";
import type { Form } from "./command.ts";
import { aligned } from "./table.ts";
import type { Host, Stream } from "./host.ts";

type DataForm = Extract<Form, "json" | "yaml">;

interface Printed {
  readonly data: unknown;
  readonly table: (isWide: boolean) => void;
}

export function printAs(form: Form, { data, table }: Printed, host: Host): void {
  if (form === "json" || form === "yaml") printData(data, form, host);
  else table(form === "wide");
}

export function printData(data: unknown, form: DataForm, { stdout }: Host): void {
  stdout.write(form === "json" ? `${JSON.stringify(data, null, 2)}\n` : dump(data, { noRefs: true, lineWidth: -1 }));
}

/** Prints a table with three spaces between columns, as kubectl does. Removes line breaks from cells. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[], stream: Stream): void {
  const cells = rows.map((row) => row.map(printable));
  for (const line of aligned([header, ...cells], { gap: "   " })) stream.write(`${line}\n`);
}

const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;

export type Paint = (text: string, style: keyof typeof CODES) => string;

/** Returns the colours of a stream. A non-empty NO_COLOR switches colours off (https://no-color.org). */
export function paintFor(stream: Stream, { env }: Pick<Host, "env">): Paint {
  const isPlain = stream.isTTY !== true || Boolean(env["NO_COLOR"]) || env["TERM"] === "dumb";
  return isPlain ? (text) => text : (text, style) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
}

const UNSEEN = "\u{FFFD}";

/** Replaces control characters and line breaks, because a terminal would interpret them. */
export function printable(text: string): string {
  return harmless(text, UNSEEN);
}

/** Replaces control characters in the strings of a JSON document. Keeps the document's own line breaks. */
export function withoutControls(json: string): string {
  const escapes = /\\(?:u([0-9a-f]{4})|.)|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gisu;
  return json.replaceAll(escapes, (found, code?: string) => {
    if (found === "\n") return found;
    if (code !== undefined)
      return printable(String.fromCharCode(Number.parseInt(code, 16))) === UNSEEN ? UNSEEN : found;
    return /^\\[^bfrt]$/s.test(found) ? found : UNSEEN;
  });
}

/** Removes the paths of URLs from the API server's message, because a webhook's URL can contain a token. */
export function quoted(text: string): string {
  return printable(text).replaceAll(/https?:\/\/([^/\s"\\]+)[^\s"\\]*/g, "https://$1/…");
}

/** Breaks long lines between words, to the width of the terminal. */
import { Help } from "@commander-js/extra-typings";
import type { Host, Stream } from "./host.ts";

/** The smallest width for which lines are wrapped, in characters. A narrower terminal breaks lines itself. */
const NARROWEST = 40;
const help = Object.assign(new Help(), { minWidthToWrap: NARROWEST / 2 });

/** Lines that are not wrapped: rows of a table, and commands to copy. */
const KEPT = /\S {2,}\S|^\s*(?:[\w-]+(?: [\w-]+){0,4}: )?(?:kubectl|oc|lifeboat|npx|npm|helm) /;

/**
 * Returns the lines of a text for a terminal of this width. Further lines of a text that starts with a mark, such as
 * `√`, are indented.
 */
export function wrapped(text: string, width: number): string {
  return text
    .split("\n")
    .map((line) => wrappedLine(line, width))
    .join("\n");
}

function wrappedLine(line: string, width: number): string {
  if (help.displayWidth(line) <= width || KEPT.test(line)) return line;
  const [indent = ""] = /^ */.exec(line) ?? [];
  const hanging = `${indent}${/^ *\S*[√×‼!]/.test(line) ? "  " : ""}`;
  const [first = "", ...rest] = help.boxWrap(line.slice(indent.length), width - hanging.length).split("\n");
  return [`${indent}${first}`, ...rest.map((one) => `${hanging}${one.trimStart()}`)].join("\n");
}

/** Wraps the output of a host. Only a terminal has a width: files and pipes get whole lines. */
export function wrapping(host: Host): Host {
  return { ...host, stdout: narrowed(host.stdout), stderr: narrowed(host.stderr) };
}

function narrowed(stream: Stream): Stream {
  return {
    write(text) {
      const { columns = 0 } = stream;
      return stream.write(stream.isTTY === true && columns >= NARROWEST ? wrapped(text, columns) : text);
    },
    get isTTY() {
      return stream.isTTY;
    },
    get columns() {
      return stream.columns;
    },
  };
}

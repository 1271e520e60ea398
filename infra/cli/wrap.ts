/** Wraps long lines between words, to the width of the terminal. */
import { Help } from "@commander-js/extra-typings";
import type { Host, Stream } from "./host.ts";

/** The minimum width for wrapping, in characters. In a narrower terminal, lines are not wrapped. */
const NARROWEST = 40;
const help = Object.assign(new Help(), { minWidthToWrap: NARROWEST / 2 });

const KEPT = /\S {2,}\S|^\s*(?:[\w-]+(?: [\w-]+){0,4}: )?(?:kubectl|oc|lifeboat|npx|npm|helm) /;

/** Wraps a text to this width. If the text starts with a symbol such as `√`, indents the further lines. */
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

/** Wraps the output of a host if the output is a terminal. */
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

/** A tool's output: a terminal whose last lines are redrawn, or a log that only grows. */

export interface Screen {
  /** Whether lines can be redrawn. */
  readonly live: boolean;
  readonly width: number;
  readonly colour: boolean;
  /** Prints lines that are never redrawn. */
  print: (...lines: readonly string[]) => void;
  /** Prints lines at the bottom, which the next draw replaces. */
  draw(lines: readonly string[]): void;
  /** Makes the last drawing permanent. Further output follows below it. */
  keep(): void;
}

const CLEAR_BELOW = "\u001B[0J";

export function createScreen(out: NodeJS.WriteStream): Screen {
  let drawn: readonly string[] = [];
  const live = out.isTTY && process.env["TERM"] !== "dumb";
  const erase = (): string => (drawn.length === 0 ? "" : `\u001B[${drawn.length}A\r${CLEAR_BELOW}`);
  return {
    live,
    get width() {
      return out.columns || 80;
    },
    colour: live && out.hasColors(),
    print(...lines) {
      out.write(erase() + text(lines) + text(drawn));
    },
    draw(lines) {
      // Lines above the visible screen cannot be erased any more.
      const fitting = lines.slice(0, Math.max(1, (out.rows || 24) - 1));
      out.write(erase() + text(fitting));
      drawn = fitting;
    },
    keep() {
      drawn = [];
    },
  };
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** A tool's output: a terminal, whose last lines are drawn over again, or a log, where lines are only added. */

export interface Screen {
  /** Whether lines can be drawn over. */
  readonly live: boolean;
  readonly width: number;
  readonly colour: boolean;
  /** Lines that stay. */
  print: (...lines: readonly string[]) => void;
  /** Lines that stand below all others until the next draw. */
  draw(lines: readonly string[]): void;
  /** Keeps the last drawing. Further output follows below it. */
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
      // Lines that do not fit above the cursor cannot be erased again.
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

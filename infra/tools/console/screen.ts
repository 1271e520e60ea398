/** Prints the output of a tool. On a terminal, replaces the last lines. In a log, only adds lines. */

export interface Screen {
  readonly live: boolean;
  readonly width: number;
  readonly colour: boolean;
  /** Prints lines above the lines that `draw` replaces. */
  print: (...lines: readonly string[]) => void;
  /** Replaces the lines at the bottom of the terminal. */
  draw(lines: readonly string[]): void;
  /** Stops replacing the drawn lines. The next lines appear below them. */
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
      // A terminal cannot replace lines that have scrolled off the screen.
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

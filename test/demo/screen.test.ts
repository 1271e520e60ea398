/** A terminal whose last lines are drawn over again, and a log. */
import { expect, test } from "vitest";
import { createScreen, type Output, type Screen } from "../../infra/tools/console/screen.ts";

const ESCAPE = "\u001B[";

/** What a terminal shows after what was written to it: lines, cursor up, clear below. */
class Terminal implements Output {
  isTTY = true;
  columns = 80;
  rows = 4;
  lines: string[] = [];

  hasColors(): boolean {
    return true;
  }

  write(text: string): void {
    const [moves = "", rest = text] = text.startsWith(ESCAPE) ? text.split(`${ESCAPE}0J`) : [];
    this.lines.splice(this.lines.length - (Number.parseInt(moves.slice(ESCAPE.length), 10) || 0));
    this.lines.push(...rest.split("\n").slice(0, -1));
  }
}

// prettier-ignore
const draws: readonly [string, (screen: Screen) => void, readonly string[]][] = [
  ["what is drawn replaces what was drawn",      (on) => { on.draw(["a", "b"]); on.draw(["a", "b", "c"]); on.draw(["d"]); },                  ["d"]],
  ["what is printed stays above what is drawn",  (on) => { on.print("1"); on.draw(["a"]); on.print("2"); on.draw(["b"]); },                   ["1", "2", "b"]],
  ["what is kept stays above what follows",      (on) => { on.draw(["a"]); on.keep(); on.print("1"); },                                       ["a", "1"]],
  ["no more is drawn than can be erased again",  (on) => { on.draw(["1", "2", "3", "4"]); on.draw(["5", "6", "7", "8"]); },                   ["5", "6", "7"]],
];
test.each(draws)("on a terminal %s", (_, show, lines) => {
  const terminal = new Terminal();
  show(createScreen(terminal));
  expect(terminal.lines).toEqual(lines);
});

test("its width is that of now", () => {
  const terminal = new Terminal();
  const screen = createScreen(terminal);
  terminal.columns = 40;
  expect(screen.width).toBe(40);
});

test("a log is not live and has no colours", () => {
  const log = Object.assign(new Terminal(), { isTTY: false });
  expect(createScreen(log)).toMatchObject({ live: false, colour: false });
});

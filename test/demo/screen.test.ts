/** A terminal whose last lines are drawn over again, and a log. */
import { beforeEach, describe, expect, test } from "vitest";
import { createScreen, type Output } from "../../infra/demo/screen.ts";

const ESCAPE = "\u001B[";

/** What a terminal shows after what was written to it: lines, cursor up, clear below. */
class Terminal implements Output {
  isTTY = true;
  columns = 80;
  rows = 10;
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

let terminal: Terminal;
beforeEach(() => {
  terminal = new Terminal();
});

describe("a terminal", () => {
  test("what is drawn replaces what was drawn before", () => {
    const screen = createScreen(terminal);
    screen.draw(["a 1", "b 1"]);
    screen.draw(["a 2", "b 2", "c 2"]);
    screen.draw(["a 3"]);
    expect(terminal.lines).toEqual(["a 3"]);
  });

  test("what is printed stays, above what is drawn", () => {
    const screen = createScreen(terminal);
    screen.print("first");
    screen.draw(["drawn"]);
    screen.print("second");
    screen.draw(["drawn again"]);
    expect(terminal.lines).toEqual(["first", "second", "drawn again"]);
  });

  test("what is kept stays, and what follows stands below", () => {
    const screen = createScreen(terminal);
    screen.draw(["drawn"]);
    screen.keep();
    screen.print("after");
    expect(terminal.lines).toEqual(["drawn", "after"]);
  });

  test("more is not drawn than can be erased again", () => {
    terminal.rows = 3;
    const screen = createScreen(terminal);
    screen.draw(["1", "2", "3", "4"]);
    screen.draw(["5", "6", "7", "8"]);
    expect(terminal.lines).toEqual(["5", "6"]);
  });

  test("its width is that of now", () => {
    const screen = createScreen(terminal);
    terminal.columns = 40;
    expect(screen.width).toBe(40);
  });
});

test("a log is not live and has no colours", () => {
  terminal.isTTY = false;
  expect(createScreen(terminal)).toMatchObject({ live: false, colour: false });
});

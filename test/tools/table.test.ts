/** Text in columns. */
import { expect, test } from "vitest";
import { aligned } from "../../infra/tools/console/table.ts";

test("each column is as wide as its widest cell, words to the left and figures to the right", () => {
  const rows = [
    ["part", "n", ""],
    ["sandbox", "12", "met"],
  ];
  expect(aligned(rows, { right: (column) => column === 1 })).toEqual(["part      n", "sandbox  12  met"]);
});

test("no rows, no lines", () => expect(aligned([])).toEqual([]));

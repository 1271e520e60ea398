/** The ways in ARCHITECTURE.md list every file that runs, and no other. */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { measureFiles } from "../../../infra/tools/files-run/measure.ts";

const ARCHITECTURE = new URL("../../../ARCHITECTURE.md", import.meta.url);

function fileOf(row: string): string {
  return /^\| `([^`]+)`/.exec(row)?.[1] ?? "";
}

/** Of the table after a marker, rows of files that run stay as they are; a list names the others by their folders. */
function withWay(text: string, way: string, ran: ReadonlySet<string>): string {
  const [begin, end] = [`<!-- way: ${way} -->`, `<!-- end of way: ${way} -->`];
  const [before = "", after = ""] = text.split(begin);
  const [own = "", rest = ""] = after.split(end);
  const [head = "", rule = "", ...rows] = own.split("\n").filter((line) => line.startsWith("|"));
  const kept = rows.filter((row) => ran.has(fileOf(row)));
  const others = [...ran].filter((file) => !kept.some((row) => fileOf(row) === file)).toSorted();
  const list = [...Map.groupBy(others, dirname)].map(
    ([folder, files]) => `- \`${folder}/\`: ${files.map((file) => basename(file, ".ts")).join(", ")}`,
  );
  const lines = [head, rule, ...kept, "", "And beneath them:", "", ...list];
  return `${before}${begin}\n\n${lines.join("\n")}\n\n${end}${rest}`;
}

test(
  "a first eviction, a deletion up to its answer, and an idle tick run the files that are listed",
  { timeout: 300_000 },
  async () => {
    const ran = await measureFiles();
    let text = readFileSync(ARCHITECTURE, "utf8");
    text = withWay(text, "eviction", ran["first eviction"].all);
    text = withWay(text, "preemption", ran.deletion.before);
    text = withWay(text, "tick", ran["idle tick"].all);
    const wanted = await format(text, { parser: "markdown", printWidth: 120 });
    const how =
      "other files run: `npx vitest run test/answer/tools/ways.test.ts -u` corrects the ways in ARCHITECTURE.md";
    await expect(wanted, how).toMatchFileSnapshot("../../../ARCHITECTURE.md");
  },
);

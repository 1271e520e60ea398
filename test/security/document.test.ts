/** SECURITY.md against what it speaks of: the tests it names, the table of permissions, the settings it relies on. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { NEEDS, RELAYS_NEEDS } from "../manifests/least-privilege.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, "utf8");
const text = read("SECURITY.md");
/** Wherever its lines are broken. */
const line = text.replaceAll(/\s+/g, " ");

/** `[name](test/….test.ts) “title”, “title”`. */
const named = [...line.matchAll(/\]\((test\/[\w./-]+)\)((?:,? “[^”]+”)*)/g)].map(([, file = "", titles = ""]) => ({
  file,
  titles: [...titles.matchAll(/“([^”]+)”/g)].flatMap(([, title]) => title ?? []),
}));

describe("the tests that it names", () => {
  test("are many, and no title stands without its file", () => {
    expect(new Set(named.map(({ file }) => file)).size).toBeGreaterThan(20);
    const titles = [...line.matchAll(/“([^”]+)”/g)].map(([, title]) => title);
    expect(named.flatMap((one) => one.titles)).toEqual(titles);
  });

  test.each(named)("$file", ({ file, titles }) => {
    expect(existsSync(`${root}${file}`)).toBe(true);
    const source = read(file);
    expect(titles.filter((title) => !source.includes(title))).toEqual([]);
  });
});

test("the eighteen threats are all answered", () => {
  const numbers = [...text.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: 18 }, (_, i) => i + 1));
});

test("the table of permissions is the one that is tested", () => {
  const [, section = ""] = text.split("\n## Least privilege\n");
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((row) => row.startsWith("| `"));
  const cells = rows.map((row) => row.split("|").map((cell) => cell.trim()));
  expect(cells.map(([, file, permission, without]) => [file, permission, without])).toEqual(
    [...NEEDS, ...RELAYS_NEEDS].map(({ file, permission, without }) => [`\`${file}\``, `\`${permission}\``, without]),
  );
});

test("invocation logs are off: they would hold paths, and paths may hold a token", () => {
  expect(read("wrangler.toml")).toMatch(/\[observability\.logs\]\nenabled = true\ninvocation_logs = false\n/);
});

/** Tests that the bundle contains only code that is used, because each import needs memory in every isolate. */
import { readFile } from "node:fs/promises";
import * as z from "zod";
import { expect, test } from "vitest";
import { buildWorker, modulesAtStart, modulesOf } from "../../../infra/tools/build-worker.ts";

const Sources = z.object({ sources: z.array(z.string()) });

const bundle = await buildWorker();
const sources = await sourcesOf(await modulesOf(bundle));
const sourcesAtStart = await sourcesOf(await modulesAtStart(bundle));

async function sourcesOf(paths: Iterable<string>): Promise<readonly string[]> {
  const maps = await Promise.all([...paths].map(async (path) => JSON.parse(await readFile(`${path}.map`, "utf8"))));
  return maps.flatMap((map) => Sources.parse(map).sources);
}

// prettier-ignore
test.each([
  ["code for Node or tests",         /(?:^|\/)(?:infra|test)\//],
  ["zod's classic interface",        /\/zod\/v4\/classic\//],
  ["zod's languages",                /\/zod\/v4\/locales\//],
  ["zod's JSON schemas",             /\/zod\/v4\/core\/.*json-schema/],
  ["routers that are not used",      /\/hono\/.*\/(?:reg-exp|smart|linear|pattern)-router\//],
])("the bundle omits %s", (_, unwanted) => {
  expect(sources).toContainEqual(expect.stringMatching(/functions\/index\.ts$/));
  expect(sources.filter((source) => unwanted.test(source))).toEqual([]);
});

test("the bundle contains three packages", () => {
  const names = sources.flatMap((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []);
  expect(new Set(names)).toEqual(new Set(["hono", "js-yaml", "zod"]));
});

// prettier-ignore
test.each([
  ["the pages",                           /\/functions\/page\//],
  ["modules that only the pages use",     /\/hono\/.*\/(?:html|cookie|secure-headers)\//],
  ["the parser of descheduling policies", /\/js-yaml\//],
])("the bundle contains %s, and loads that code only on demand", (_, later) => {
  expect(sources.filter((source) => later.test(source))).not.toEqual([]);
  expect(sourcesAtStart.filter((source) => later.test(source))).toEqual([]);
});

/** What the READMEs promise exists. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createApp } from "../functions/app.ts";
import { STORIES } from "../infra/demo/arguments.ts";
import { newIsolateState } from "../functions/target.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES } from "../shared/policy/settings.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(`${root}README.md`, "utf8");

const documents = globSync("{*.md,infra/**/*.md}", { cwd: root, exclude: ["**/node_modules/**"] });

describe.each(documents)("%s", (document) => {
  const text = readFileSync(join(root, document), "utf8");
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].flatMap(([, link]) => link ?? []);
  test("every link to a file leads to one", () => {
    expect(links.filter((link) => !existsSync(join(root, dirname(document), link)))).toEqual([]);
  });

  const commands = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([block]) => block.split("\n"));
  test("every file that a command names is there, seen from the root", () => {
    const path = /(?<=\s)(?:(?:[\w.-]+\/)*[\w-]+\.(?:yaml|ts)\b|infra\/[\w./-]+)/g;
    const named = commands.flatMap((line) => (line.startsWith("#") ? [] : (line.match(path) ?? [])));
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});

test("every route is in the README", () => {
  const platform = { fetch, now: () => new Date(0), sleep: () => Promise.resolve(), log: () => undefined };
  const routes = createApp(platform, newIsolateState()).routes.map(({ method, path }) => {
    const named = path.replaceAll(/:(\w+)/g, "{$1}").replace("/{webhookToken}", "[/{webhookToken}]");
    return `${method} ${named}`;
  });
  const missing = routes.filter((route) => !readme.includes(`\`${route}\``) && !readme.includes(`\`${route}[/{`));
  expect(missing).toEqual([]);
});

test.each(STORIES.filter((story) => story !== "drain"))("the story of the %s can be found", (story) => {
  expect(readme).toContain(`npm start -- ${story} `);
});

describe("the configuration in the README", () => {
  test.each(DEFAULT_SETTINGS.guard.requesters)("the deletions of %s are held", (user) =>
    expect(readme).toContain(`\`${user}\``),
  );

  test.each(FEATURE_GATES)("the gate %s is named", (gate) => expect(readme).toContain(`\`${gate}\``));
});

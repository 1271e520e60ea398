/** What the documents promise exists. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { createApp } from "../functions/app.ts";
import { newIsolateState } from "../functions/target.ts";
import { newPlatform } from "./functions/support/doors.ts";
import { STORIES } from "../infra/demo/arguments.ts";
import { parseClusters, problemsOf } from "../shared/config/clusters.ts";
import { DEFAULT_SETTINGS, FEATURE_GATES } from "../shared/policy/settings.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const textOf = (document: string) => readFileSync(join(root, document), "utf8");

const documents = globSync("{*.md,{functions,infra,shared,test}/**/*.md}", {
  cwd: root,
  exclude: ["**/node_modules/**"],
});

/** As GitHub makes them from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function leadsSomewhere(link: string, document: string): boolean {
  const { pathname, hash } = new URL(link, `file:///${document}`);
  const target = decodeURIComponent(pathname.slice(1));
  if (!existsSync(join(root, target))) return false;
  return hash === "" || anchorsOf(textOf(target)).has(hash.slice(1));
}

describe.each(documents)("%s", (document) => {
  const text = textOf(document);
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].flatMap(([, link]) => link ?? []);
  test("every link to a file, and to a heading in it, leads to one", () => {
    expect(links.filter((link) => !leadsSomewhere(link, document))).toEqual([]);
  });

  const commands = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([block]) => block.split("\n"));
  test("every file that a command names is there, seen from the root", () => {
    const path = /(?<=\s)(?:(?:[\w.-]+\/)*[\w-]+\.(?:yaml|ts)\b|infra\/[\w./-]+)/g;
    const named = commands.flatMap((line) => (line.startsWith("#") ? [] : (line.match(path) ?? [])));
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});

test("every route is in the reference", () => {
  const reference = textOf("REFERENCE.md");
  const { platform } = newPlatform();
  const routes = createApp(platform, newIsolateState()).routes.map(({ method, path }) => {
    const named = path.replaceAll(/:(\w+)/g, "{$1}").replace("/{webhookToken}", "[/{webhookToken}]");
    return `${method} ${named}`;
  });
  const missing = routes.filter((route) => !reference.includes(`\`${route}\``) && !reference.includes(`\`${route}[/{`));
  expect(missing).toEqual([]);
});

test.each(STORIES.filter((story) => story !== "drain"))("the README names the story of the %s", (story) => {
  expect(textOf("README.md")).toContain(`npm start -- ${story} `);
});

const { requesters, nodeTerminators } = DEFAULT_SETTINGS.guard;
test.each([...requesters, ...nodeTerminators, ...FEATURE_GATES])("the reference names %s", (name) => {
  expect(textOf("REFERENCE.md")).toContain(`\`${name}\``);
});

describe.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])("%s", (document) => {
  const named = textOf(document).matchAll(/`((?:functions|shared|infra|test)\/[\w./-]*)`/g);
  test.each([...new Set([...named].map(([, path = ""]) => path))])("%s is where it says", (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });
});

test.each(["README.md", "CONTRIBUTING.md"])("every script that %s names is there", (document) => {
  const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(textOf("package.json")));
  const named = [...textOf(document).matchAll(/\bnpm (?:run )?(?!run\b|ci\b|install\b)([a-z]+)/g)].map(
    ([, name = ""]) => name,
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

describe("the example of variables", () => {
  const example = textOf(".dev.vars.example");

  test("has every variable that the Worker reads, and explains it", () => {
    const [, env = ""] = /^export interface Env \{\n(.*?)^\}/ms.exec(textOf("functions/env.ts")) ?? [];
    const read = [...env.matchAll(/readonly ([A-Z_]+)\?: string;/g)].map(([, name = ""]) => name);
    expect(read).toContain("CLUSTERS");
    expect(read.filter((name) => !new RegExp(`^# .*\n(# )?${name}='`, "m").test(example))).toEqual([]);
  });

  test("is valid, and holds no secret", () => {
    const { CLUSTERS } = parseEnv(example);
    expect(problemsOf(parseClusters(CLUSTERS))).toEqual([]);
    const values = [...example.matchAll(/(?:"\w*[tT]oken": "|^#? ?REGISTRY_KEY=')([^"']*)/gm)].map(
      ([, value = ""]) => value,
    );
    expect(values).toHaveLength(4);
    for (const value of values) expect(value).toMatch(/^(REPLACE_ME_?)+$/);
  });

  test("git ignores the file that it becomes", () => {
    expect(textOf(".gitignore").split("\n")).toContain(".dev.vars");
  });
});

describe("the architecture", () => {
  const architecture = textOf("ARCHITECTURE.md");

  const ways = [...architecture.matchAll(/^<!-- way: (\w+) -->\n\n((?:\|.*\n)+)/gm)];
  describe.each(ways.map(([, name = "", table = ""]) => [name, stepsOf(table)] as const))("%s", (_, steps) => {
    test.each(steps)("%s has %s", (file, name) => {
      expect(textOf(file)).toMatch(name === "" ? /^export /m : new RegExp(`^export .*\\b${name}\\b`, "m"));
    });

    test("each file is imported by one before it", () => {
      const files = steps.map(([file]) => file);
      const lost = files.slice(1).filter((file, at) => {
        return !files.slice(0, at + 1).some((before) => importsOf(before).includes(file));
      });
      expect(lost).toEqual([]);
    });
  });

  test("a way is told from the door to the writes", () => {
    expect(ways.map(([, name]) => name)).toEqual(["eviction", "preemption"]);
  });
});

function stepsOf(table: string): readonly (readonly [file: string, name: string])[] {
  const rows = table
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").map((cell) => cell.trim().replaceAll("`", "")));
  return rows.flatMap(([, file = "", name = ""]) => (file === "" ? [] : [[file, name] as const]));
}

function importsOf(file: string): readonly string[] {
  const specifiers = [...textOf(file).matchAll(/ from "(\.[^"]+)"/g)].map(([, specifier = ""]) => specifier);
  return specifiers.map((specifier) => join(dirname(file), specifier));
}

/** In a comment: as seen from the file's own folder, or the end of a path in the same tree. */
test("every file that a comment names is there", () => {
  const files = globSync("{functions,infra,shared,test}/**/*.ts", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  const lost = files.flatMap((file) => {
    const comments = [...textOf(file).matchAll(/\/\*\*[^]*?\*\/|\/\/[^\n]*/g)].join("\n");
    const named = [...comments.matchAll(/(?<![\w./*-])[\w-]+(?:\/[\w-]+)*\.ts\b/g)].map(([path]) => path);
    return named.filter((path) => !isThere(path, file, files)).map((path) => `${file}: ${path}`);
  });
  expect(lost).toEqual([]);
});

function isThere(path: string, from: string, files: readonly string[]): boolean {
  const [tree = ""] = from.split("/");
  if (files.includes(join(dirname(from), path)) || files.includes(path)) return true;
  return files.some((file) => file.endsWith(`/${path}`) && (path.includes("/") || file.startsWith(tree)));
}

/**
 * Tests the published command: the package of `npm pack` runs in an empty folder, on this machine's Node (20 or later).
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { VERSION } from "../../../functions/env.ts";
import { buildCommand } from "../../../infra/tools/build-command.ts";
import { NodePreflight } from "../../support/cli/node-preflight.ts";
import { type Stage, startStage } from "../stage.ts";
import { createVm } from "../vm.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** `MACHINE` leaves out the folders of node_modules, which contain another Node. CI runs Node 20, 22 and 24. */
const FOLDERS = (process.env["PATH"] ?? "").split(delimiter);
const MACHINE = FOLDERS.filter((folder) => !folder.includes("node_modules") && existsSync(join(folder, "npx")));

let stage: Stage;
let folder: string;
let tarball: string;
let files: readonly string[];
beforeAll(async () => {
  stage = await startStage({ ticking: false });
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  await mkdir(join(folder, "empty"));
  await writeFile(join(folder, "config"), stage.sandbox.kubeconfig);
  const { stdout } = await npm(["pack", "--json", "--silent", "--pack-destination", folder], root);
  const Packed = z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) });
  const packed = firstOf(z.union([z.array(Packed), z.record(z.string(), Packed)]).parse(jsonIn(stdout)));
  tarball = join(folder, packed.filename);
  files = packed.files.map(({ path }) => path);
});
afterAll(async () => {
  await stage.stop();
  await rm(folder, { recursive: true });
});

/** Parses the JSON in npm's output, which also contains lines of the prepack script. */
function jsonIn(text: string): unknown {
  return JSON.parse(text.slice(text.search(/^[[{]/m)));
}

function firstOf<T>(found: readonly T[] | Readonly<Record<string, T>>): T {
  const [first] = Object.values(found);
  if (first === undefined) throw new Error("npm pack has packed nothing");
  return first;
}

/** Runs a program with the machine's own Node, without network access. */
async function npm(args: readonly string[], cwd: string, program = "npm") {
  const PATH = [...MACHINE, "/usr/bin", "/bin"].join(delimiter);
  const env = { ...process.env, PATH, KUBECONFIG: join(folder, "config"), npm_config_offline: "true" };
  return await promisify(execFile)(program, args, { cwd, env });
}

test("the package contains one program, the license and the README", () => {
  expect(files.toSorted()).toEqual([".build/lifeboat.mjs", "LICENSE", "README.md", "package.json"]);
});

test("npm installs only the package, and runs no script of the package", async () => {
  const { dependencies, scripts } = z
    .looseObject({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  expect(dependencies).toBeUndefined();
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([]);
  // A shell remembers the path of Node, so a script that installs another Node must not call `node` in the same shell.
  expect(Object.entries(scripts).filter(([, script]) => /install\.mjs.*node /.test(script))).toEqual([]);
});

test("no source of the sandbox, the lab, the tools or the tests is in the program", async () => {
  const sources = await buildCommand(join(folder, "lifeboat.mjs"));
  expect(sources).toContain("infra/cli/main.ts");
  expect(sources.filter((source) => /^(?:infra\/(?:sandbox|lab|tools)|test)\//.test(source))).toEqual([]);
});

test("npx runs the command in an empty folder, with a kubeconfig", async () => {
  const { node } = await createVm(stage, "web");
  const args = ["--yes", `../${basename(tarball)}`, "explain", "node", node, "-o", "json"];
  const { stdout } = await npm(args, join(folder, "empty"), "npx");
  expect(NodePreflight.parse(JSON.parse(stdout))).toMatchObject({ node, verdict: "WillSucceed" });
  const plan = await npm(["--yes", `../${basename(tarball)}`, "plan"], join(folder, "empty"), "npx");
  expect(plan.stdout).toMatch(new RegExp(`^${node} .*WillSucceed`, "m"));
});

test("an installed command needs only its own file and Node.js, and prints its commit", async () => {
  await npm(["install", "--global", "--prefix", join(folder, "installed"), tarball], folder);
  await rm(tarball);
  for (const node of [process.execPath, ...MACHINE.slice(0, 1).map((found) => join(found, "node"))]) {
    const program = join(folder, "installed/bin/lifeboat");
    const env = { PATH: dirname(node), KUBECONFIG: join(folder, "config") };
    const call = async (...args: string[]) => await promisify(execFile)(node, [program, ...args], { cwd: "/", env });
    expect((await call("--version")).stdout).toMatch(
      new RegExp(`^${VERSION.replaceAll(".", "\\.")} \\(commit [0-9a-f]{12}(-dirty)?\\)\n$`),
    );
    await expect(call("evacuate", "nobody")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: VM "nobody" does not run in namespace "default"/m),
    });
  }
});

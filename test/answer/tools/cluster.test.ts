/** `npm run cluster`, with wrangler's own local KV. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const TOOL = fileURLToPath(new URL("../../../infra/tools/cluster.ts", import.meta.url));
const BIN = fileURLToPath(new URL("../../../node_modules/.bin/", import.meta.url));
const ENTRY = { server: "https://api.example.com", token: "sa-token", webhookToken: "0123456789abcdef" };
const newKey = () => randomBytes(32).toString("base64");
const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lifeboat-cluster-"));
  const kv = '[[kv_namespaces]]\nbinding = "CLUSTER_REGISTRY"\nid = "00000000000000000000000000000000"\n';
  await writeFile(join(folder, "wrangler.toml"), `name = "lifeboat"\ncompatibility_date = "2026-07-28"\n${kv}`);
  await writeFile(join(folder, "prod.json"), JSON.stringify(ENTRY));
  await writeFile(join(folder, "bad.json"), JSON.stringify({ ...ENTRY, server: "ftp://secret-host" }));
});
afterAll(() => rm(folder, { recursive: true }));

const env = (key: string) => ({ ...process.env, PATH: `${BIN}:${process.env["PATH"]}`, REGISTRY_KEY: key });
const local = ["--binding", "CLUSTER_REGISTRY", "--local"];

async function cluster(key: string, ...args: readonly string[]) {
  const ran = run(process.execPath, [TOOL, ...args, "--local"], { cwd: folder, env: env(key) });
  return await ran.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

test("an entry is added encrypted, listed while keys are rotated, and removed", async () => {
  const [key, newer] = [newKey(), newKey()];
  expect(await cluster(key, "add", "prod", "--entry", "prod.json")).toMatchObject({ code: 0 });
  expect(await cluster(`${newer},${key}`, "list")).toMatchObject({ stdout: `prod\tok\t${ENTRY.server}\n` });
  expect(await cluster(key, "remove", "prod")).toMatchObject({ code: 0 });
  expect(await run("wrangler", ["kv", "key", "list", ...local], { cwd: folder, env: env(key) })).toMatchObject({
    stdout: "[]\n",
  });
});

// prettier-ignore
test.each([
  ["an invalid entry",     ["add", "prod", "--entry", "bad.json"],  newKey(), 1, /^CLUSTER_REGISTRY.prod.server: expected an https/],
  ["no key",               ["add", "prod", "--entry", "prod.json"], "",       1, /^REGISTRY_KEY: expected/],
  ["a name that is a path", ["add", "a/b", "--entry", "prod.json"], newKey(), 2, /^NAME: expected/],
  ["no command",           [],                                      newKey(), 2, /^expected add, list or remove/],
  ["an unknown flag",      ["list", "--all"],                       newKey(), 2, /--all/],
  ["an entry to list",     ["list", "--entry", "prod.json"],        newKey(), 2, /^--entry: expected with `add` only/],
])("%s: nothing is written, and no credential is printed", async (...[, args, key, code, said]) => {
  const ran = await cluster(key, ...args);
  expect(ran).toMatchObject({ code, stdout: "" });
  expect(ran.stderr).toMatch(said);
  expect(ran.stderr).not.toMatch(/sa-token|0123456789|secret-host/);
});

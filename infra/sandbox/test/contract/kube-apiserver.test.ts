/**
 * Starting and stopping a server of binaries, with fake programs in their place: after any failure, nothing is left
 * running.
 */
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Programs, writePrograms } from "./fake-programs.ts";
import { startKubeApiServer } from "./kube-apiserver.ts";

/** Longer than any test: a program that the test kills was not waited for. */
const FOR_EVER_MS = 3_600_000;
const PATIENCE = { timeout: 30_000 };
let folder: string;
let handlesBefore: readonly string[];

beforeEach(async () => {
  handlesBefore = handles();
  folder = await mkdtemp(join(tmpdir(), "programs-"));
  await writeFile(journal(), "");
  vi.stubEnv("TMPDIR", folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const assets = () => join(folder, "assets");
const journal = () => join(folder, "journal");

/** Child processes and connections. */
function handles(): readonly string[] {
  return process.getActiveResourcesInfo().filter((kind) => /Process|TCP|TLS/.test(kind));
}

async function expectNothingLeft(): Promise<void> {
  expect((await readdir(folder)).toSorted()).toEqual(["assets", "journal"]);
  // Node closes a handle a moment after its process or connection.
  await expect.poll(handles, PATIENCE).toEqual(handlesBefore);
}

async function entries(what: "asked" | "ended"): Promise<readonly string[]> {
  const lines = (await readFile(journal(), "utf8")).split("\n");
  return lines.filter((line) => line.endsWith(` ${what}`)).map((line) => line.slice(0, -what.length - 1));
}

describe("ends the server before etcd", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, programs: Programs, endMs: number, endedByThemselves: readonly string[]])[] = [
    ["which it needs to end",      {},                                                            FOR_EVER_MS, ["kube-apiserver", "etcd"]],
    ["and kills who does not end", { "kube-apiserver": { end: "Never" }, etcd: { end: "Never" } }, 1,        []                        ],
  ];
  test.each(rows)("%s", async (_, programs, endMs, endedByThemselves) => {
    await writePrograms(assets(), journal(), programs);
    const { stop } = await startKubeApiServer(assets(), { endMs });
    await stop();
    expect(await entries("ended")).toEqual(endedByThemselves);
    await expectNothingLeft();
    await stop();
  });
});

describe("leaves nothing of a start that fails", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, programs: Programs, message: string])[] = [
    ["without etcd",       { etcd: { start: "Missing" } },             "assets/etcd ENOENT"          ],
    ["without server",     { "kube-apiserver": { start: "Missing" } }, "assets/kube-apiserver ENOENT"],
    ["as etcd ends",       { etcd: { start: "Fails" } },               "etcd ended with 7"           ],
    ["as the server ends", { "kube-apiserver": { start: "Fails" } },   "kube-apiserver ended with 7" ],
  ];
  test.each(rows)("%s", async (_, programs, message) => {
    await writePrograms(assets(), journal(), programs);
    const starting = startKubeApiServer(assets(), { start: new AbortController().signal, endMs: 1 });
    await expect(starting).rejects.toThrow(`${message} before kube-apiserver was ready`);
    await expectNothingLeft();
  });

  test("as it takes too long", async () => {
    await writePrograms(assets(), journal(), { "kube-apiserver": { start: "NeverReady", end: "Never" } });
    const patience = new AbortController();
    const starting = startKubeApiServer(assets(), { start: patience.signal, endMs: 1 });
    const failed = expect(starting).rejects.toThrow("it took too long until kube-apiserver was ready");
    await expect.poll(() => entries("asked"), PATIENCE).toEqual(["kube-apiserver"]);
    patience.abort();
    await failed;
    await expectNothingLeft();
  });
});

/**
 * Tests that the command always creates new files for tokens and keys, so that no other user can prepare the file.
 */
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSecretFile } from "../../../infra/cli/secret-file.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "lifeboat-"))));
afterEach(() => rm(folder, { recursive: true }));

test("a new file is readable only for its owner", async () => {
  const file = join(folder, "entry.json");
  await createSecretFile(file, "secret");
  expect([await readFile(file, "utf8"), (await stat(file)).mode & 0o777]).toEqual(["secret", 0o600]);
});

// prettier-ignore
test.each([
  ["a file",                       (file: string) => writeFile(file, "theirs", { mode: 0o666 })],
  ["a link to a file",             async (file: string) => { await writeFile(`${file}.theirs`, "theirs"); await symlink(`${file}.theirs`, file); }],
  ["a dangling link", (file: string) => symlink(`${file}.theirs`, file)],
])("given %s at the path of a new file, the path is named, and nothing is written", async (_, prepare) => {
  const file = join(folder, "entry.json");
  await prepare(file);
  await expect(createSecretFile(file, "secret")).rejects.toThrow(`${file} exists, but the command writes secrets only into new files`);
  expect(await readFile(`${file}.theirs`, "utf8").catch(() => "theirs")).toBe("theirs");
});

test("a missing folder is named", async () => {
  await expect(createSecretFile("/nowhere/entry.json", "secret")).rejects.toThrow(
    "/nowhere/entry.json cannot be written: ENOENT",
  );
});

test("command, tools and demo write all files with tokens and keys by this function", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const files = globSync(["infra/{cli,lab/demo}/**/*.ts", "infra/tools/*.ts"], { cwd: root });
  const writing = files.filter((file) => /writeFile\([^;]*0o600/.test(readFileSync(`${root}${file}`, "utf8")));
  expect(writing).toEqual(["infra/cli/secret-file.ts"]);
});

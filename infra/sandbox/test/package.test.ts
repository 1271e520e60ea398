/** Tests that the package can be installed and used without this repository. */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const here = fileURLToPath(new URL("../", import.meta.url));
const readManifest = (folder: string) => JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as Manifest;
const { name, dependencies, devDependencies } = readManifest(here);
const all = { ...dependencies, ...devDependencies };

test("all dependencies have exact versions, which are the same as in the repository", () => {
  const ours = readManifest(root);
  expect(all).toMatchObject(shared({ ...ours.dependencies, ...ours.devDependencies }));
  expect(Object.values(all).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

function shared(versions: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(versions).filter(([one]) => one in all));
}

describe("the packed and installed package", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kubevirt-sandbox-"));
    const modules = join(folder, "node_modules");
    mkdirSync(join(modules, name), { recursive: true });
    execFileSync("npm", ["pack", "--offline", "--pack-destination", folder], { cwd: here, stdio: "pipe" });
    const [packed = ""] = globSync("*.tgz", { cwd: folder });
    execFileSync("tar", ["-xzf", join(folder, packed), "--strip-components=1", "-C", join(modules, name)]);
    for (const one of Object.keys(dependencies)) {
      mkdirSync(dirname(join(modules, one)), { recursive: true });
      symlinkSync(join(root, "node_modules", one), join(modules, one));
    }
    const [, example = ""] = /^```ts\n(.*?)^```/ms.exec(readFileSync(`${here}README.md`, "utf8")) ?? [];
    writeFileSync(join(folder, "example.mts"), example);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("runs the README's example", () => {
    const output = execFileSync(process.execPath, ["example.mts"], { cwd: folder, encoding: "utf8", timeout: 30_000 });
    expect(output).toMatch(/^. pass 1$/m);
  });

  test("has type declarations with which the README's example compiles", () => {
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, [...options, "--listFiles", "example.mts"], { cwd: folder, encoding: "utf8" });
    expect(stdout).toContain(`/${name}/dist/sandbox.d.ts`);
    const errors = stdout.split("\n").filter((line) => /^(?:example|node_modules.kubevirt-sandbox).*error/.test(line));
    expect(errors).toEqual([]);
  });
});

/** The package stands alone: it imports only itself and what its package.json lists, and runs where npm has installed it. */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
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

describe("imports", () => {
  const files = globSync("**/*.ts", { cwd: here, exclude: ["dist/**", "node_modules/**"] });
  const imports = files.flatMap((file) => importsOf(file).map((from) => ({ file, from })));
  const packages = imports.filter(({ from }) => !/^\.|^node:/.test(from));

  test("files of its own only", () => {
    const foreign = imports.filter(
      ({ file, from }) => from.startsWith(".") && normalize(join(dirname(file), from)).startsWith(".."),
    );
    expect(imports.length).toBeGreaterThan(500);
    expect(foreign).toEqual([]);
  });

  test("packages that it lists only, outside of tests none that only development needs", () => {
    const unlisted = packages.filter(
      ({ file, from }) => !(packageOf(from) in (isTest(file) ? all : dependencies)) && packageOf(from) !== name,
    );
    expect(unlisted).toEqual([]);
  });

  test("every package that it lists", () => {
    const used = new Set(packages.map(({ from }) => packageOf(from)));
    expect(Object.keys(all).filter((one) => !used.has(one))).toEqual(["@types/node", "typescript"]);
  });
});

function isTest(file: string): boolean {
  return /^test\/|^vitest\.config/.test(file);
}

function packageOf(from: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from;
}

function importsOf(file: string): readonly string[] {
  const source = readFileSync(join(here, file), "utf8");
  return [...source.matchAll(/(?:^import |^(?:import|export|\}).* from |\bimport\()"([^"]+)"/gm)].flatMap(
    ([, from]) => from ?? [],
  );
}

test("versions are pinned, and the same as in the rest of the repository", () => {
  const ours = readManifest(root);
  expect(all).toMatchObject(shared(ours.dependencies));
  expect(all).toMatchObject(shared(ours.devDependencies));
  expect(Object.values(all).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

function shared(versions: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(versions).filter(([one]) => one in all));
}

describe("packed and installed", () => {
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

  test("the README's example runs", () => {
    const output = execFileSync(process.execPath, ["example.mts"], { cwd: folder, encoding: "utf8", timeout: 30_000 });
    expect(output).toMatch(/^. pass 1$/m);
  });

  test("its declarations are sound, and the example keeps to them", () => {
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, [...options, "--listFiles", "example.mts"], { cwd: folder, encoding: "utf8" });
    expect(stdout).toContain(`/${name}/dist/sandbox.d.ts`);
    // Declarations of other packages have errors of their own.
    const errors = stdout.split("\n").filter((line) => /^(?:example|node_modules.kubevirt-sandbox).*error/.test(line));
    expect(errors).toEqual([]);
  });
});

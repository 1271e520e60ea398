/** Bundles the Worker into .build/index/. `wrangler deploy` uploads this folder. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = "functions/index.ts";

/**
 * Bundles the Worker, and resolves to the path of its entry. Each module that is imported with `import()` becomes a
 * separate file, which a Worker loads only when it is needed.
 */
export async function buildWorker(entry: string = ENTRY): Promise<string> {
  const folder = join(root, ".build", basename(entry, ".ts"));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    entryNames: "index",
    chunkNames: "[name]-[hash]",
    outdir: folder,
    write: false,
    bundle: true,
    splitting: true,
    format: "esm",
    // These options are the same as wrangler's.
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    minify: true,
    sourcemap: true,
    logLevel: "error",
  });
  await mkdir(folder, { recursive: true });
  // Writes the entry last, because another process can load the bundle at the same time.
  for (const { path, contents } of outputFiles.toSorted((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)))) {
    // All file names except `index.*` contain a hash of the content, so an existing file is up to date.
    if (!basename(path).startsWith("index.") && existsSync(path)) continue;
    const aside = `${folder}-${randomUUID()}-${basename(path)}`;
    await writeFile(aside, contents);
    await rename(aside, path);
  }
  const wanted = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const file of await readdir(folder)) if (!wanted.has(file)) await rm(join(folder, file), { force: true });
  return join(folder, "index.js");
}

export async function modulesOf(bundle: string): Promise<readonly string[]> {
  const files = (await readdir(dirname(bundle))).filter((file) => file.endsWith(".js"));
  return [...files.filter(isEntry), ...files.filter((file) => !isEntry(file))].map((file) =>
    join(dirname(bundle), file),
  );
}

/** Returns the modules that a Worker loads before its first request. */
export async function modulesAtStart(
  bundle: string,
  found: ReadonlySet<string> = new Set(),
): Promise<ReadonlySet<string>> {
  if (found.has(bundle)) return found;
  let all: ReadonlySet<string> = new Set([...found, bundle]);
  const imports = (await readFile(bundle, "utf8")).matchAll(/(?:\bfrom|\bimport)"\.\/([^"]+)"/g);
  for (const [, name = ""] of imports) all = await modulesAtStart(join(dirname(bundle), name), all);
  return all;
}

function isEntry(path: string): boolean {
  return basename(path) === "index.js";
}

if (import.meta.main) console.log(await buildWorker());

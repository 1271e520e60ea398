/**
 * Bundles the Worker into .build/index.js, as `wrangler deploy` would upload it; other entries the same way beside it.
 * Owns: when a bundle is fresh enough. Does not own: running it (worker.ts), deploying it.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = "functions/index.ts";

/** Resolves to the path of the bundle; builds only if a source has changed since the last time. */
export async function buildWorker(entry: string = ENTRY): Promise<string> {
  const name = basename(entry, ".ts");
  const bundle = `${root}/.build/${name}.js`;
  const stamp = `${root}/.build/${name === "index" ? "inputs" : name}.sha256`;
  const inputs = await hashInputs(entry);
  if (existsSync(bundle) && existsSync(stamp) && (await readFile(stamp, "utf8")) === inputs) return bundle;
  await mkdir(`${root}/.build`, { recursive: true });
  // Built aside and moved into place, so that no test that starts meanwhile sees half a bundle.
  const aside = await mkdtemp(`${root}/.build/building-`);
  try {
    await runWrangler(entry, aside);
    for (const file of await readdir(aside)) await rename(`${aside}/${file}`, `${root}/.build/${file}`);
    await writeFile(stamp, inputs);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return bundle;
}

async function runWrangler(entry: string, outdir: string): Promise<void> {
  const wrangler = `${root}/node_modules/wrangler/bin/wrangler.js`;
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" };
  const child = spawn(process.execPath, [wrangler, "deploy", entry, "--dry-run", "--outdir", outdir], {
    cwd: root,
    env,
  });
  const output: string[] = [];
  child.stdout.on("data", (chunk) => output.push(String(chunk)));
  child.stderr.on("data", (chunk) => output.push(String(chunk)));
  const [code] = await once(child, "close");
  if (code !== 0)
    throw new Error(`The Worker does not build:
${output.join("")}`);
}

async function hashInputs(entry: string): Promise<string> {
  const hash = createHash("sha256");
  for (const path of new Set(["wrangler.toml", "package-lock.json", ...(await sources()), entry])) {
    hash
      .update(path)
      .update("\0")
      .update(await readFile(`${root}/${path}`))
      .update("\0");
  }
  return hash.digest("hex");
}

async function sources(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const folder of ["functions", "shared"]) {
    const files = await readdir(`${root}/${folder}`, { recursive: true });
    found.push(...files.filter((file) => /\.(?:ts|json)$/.test(file)).map((file) => `${folder}/${file}`));
  }
  return found.toSorted();
}

if (import.meta.main) console.log(await buildWorker());

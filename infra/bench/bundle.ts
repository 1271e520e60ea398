/**
 * Bundles of Workers: Lifeboat's as it is deployed, and those it is measured against in the same way.
 * Owns: making them, their sizes. Does not own: running them (workerd.ts).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rename } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildWorker } from "../tools/build-worker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export type Bundle = "lifeboat" | "collecting" | "ticking" | "floor" | "reading" | "hono" | "empty";

/** Resolves to the path of the bundle. */
export async function bundle(name: Bundle): Promise<string> {
  if (name === "lifeboat") return await buildWorker();
  const outdir = `${root}/.build/bench-${name}`;
  const wrangler = `${root}/node_modules/wrangler/bin/wrangler.js`;
  const args = [wrangler, "deploy", `infra/bench/workers/${name}.ts`, "--dry-run", "--outdir", outdir];
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(String(chunk)));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name}.ts does not build:\n${output.join("")}`);
  // wrangler names it after its source.
  await rename(`${outdir}/${name}.js`, `${outdir}/index.js`);
  return `${outdir}/index.js`;
}

/** What of it is uploaded and counted against the platform's limit. */
export async function gzipKiB(path: string): Promise<number> {
  return gzipSync(await readFile(path), { level: 9 }).length / 1024;
}

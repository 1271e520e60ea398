/** Bundles of Workers: Lifeboat's as it is deployed, and those it is measured against in the same way. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { buildWorker } from "../../tools/build-worker.ts";

export type Bundle = "lifeboat" | "collecting" | "ticking" | "floor" | "reading" | "hono" | "empty";

/** Resolves to the path of its entry. */
export async function bundle(name: Bundle): Promise<string> {
  return await (name === "lifeboat" ? buildWorker() : buildWorker(`infra/lab/bench/workers/${name}.ts`));
}

/** What is uploaded and counted against the platform's limit. */
export async function gzipKiB(modules: Iterable<string>): Promise<number> {
  const sizes = await Promise.all(
    [...modules].map(async (path) => gzipSync(await readFile(path), { level: 9 }).length),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

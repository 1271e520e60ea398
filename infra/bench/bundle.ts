/**
 * Bundles of Workers: Lifeboat's as it is deployed, and those it is measured against in the same way.
 * Owns: making them, their sizes. Does not own: running them (workerd.ts).
 */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { buildWorker } from "../tools/build-worker.ts";

export type Bundle = "lifeboat" | "collecting" | "ticking" | "floor" | "reading" | "hono" | "empty";

/** Resolves to the path of its entry. */
export async function bundle(name: Bundle): Promise<string> {
  return await (name === "lifeboat" ? buildWorker() : buildWorker(`infra/bench/workers/${name}.ts`));
}

/** What of it is uploaded and counted against the platform's limit. */
export async function gzipKiB(path: string): Promise<number> {
  return gzipSync(await readFile(path), { level: 9 }).length / 1024;
}

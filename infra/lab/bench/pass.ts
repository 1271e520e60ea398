/** A pass as a cron trigger finds it: in a fresh process, or in a fresh isolate. */
import type { MeasuredApiServer } from "./api-server.ts";
import { bundle } from "./bundle.ts";
import { startChild } from "./child.ts";
import { type Pass, PassSchema, type Work } from "./pass-work.ts";
import { startBareWorkerd } from "./workerd.ts";

/** In Node, where requests and bytes can be counted. `url`: the same API server behind another network. */
export async function runPass(server: MeasuredApiServer, work: Work, url = server.url): Promise<Pass> {
  const { caPem, lifeboatToken: token } = server;
  const child = startChild("pass-process.ts", { url, caPem, token, work });
  try {
    return await child.next(PassSchema);
  } finally {
    await child.stop();
  }
}

export const DOOR = "/clusters/bench";
/** Only where the heap is looked at: to the scheduled handler. */
export const TICK = "/tick";

export interface InWorkerd {
  /** Of the process, for each request. */
  readonly cpuMs: readonly number[];
  readonly peakRssMiB: number;
  /** Of the isolate; 0 unless it was looked at. */
  readonly peakHeapMiB: number;
  /** Parsed JSON. */
  readonly answers: readonly unknown[];
}

/**
 * The bundle itself, first cold and then warm: POST to these paths, one after another. A look at the heap takes far more
 * time than all the rest: it has runs of its own.
 */
export async function runInWorkerd(
  server: MeasuredApiServer,
  paths: readonly string[],
  { heap = false }: { readonly heap?: boolean } = {},
): Promise<InWorkerd> {
  const { url, caPem, lifeboatToken: token } = server;
  const webhookToken = "webhook-token-of-the-benchmark";
  const clusters = { bench: { server: url, token, webhookToken } };
  const path = await bundle(heap ? "collecting" : "lifeboat");
  const worker = await startBareWorkerd({ bundle: path, clusters, caPem, traceHeap: heap });
  const cpuMs: number[] = [];
  const answers: unknown[] = [];
  let peakRssMiB = 0;
  try {
    const headers = { authorization: `Bearer ${webhookToken}` };
    for (const path of paths) {
      const before = await worker.cpuMs();
      const answer = await fetch(`${worker.url}${path}`, { method: "POST", headers });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${text}`);
      answers.push(JSON.parse(text));
      cpuMs.push((await worker.cpuMs()) - before);
    }
    peakRssMiB = (await worker.peakRssBytes()) / 2 ** 20;
  } finally {
    await worker.stop();
  }
  return { cpuMs, peakRssMiB, peakHeapMiB: worker.peakHeapMiB(), answers };
}

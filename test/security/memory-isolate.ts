/**
 * What memory.test.ts runs in an isolate of limited memory: listing VMIs, by the page as a whole or as Lifeboat does.
 * Owns: that. Does not own: the limit, the API server.
 */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { connect } from "../../shared/cluster/cluster.ts";

const { server, how } = z.object({ server: z.string(), how: z.enum(["at once", "as Lifeboat"]) }).parse(workerData);

async function countAtOnce(): Promise<number> {
  const answer = await fetch(`${server}/apis/kubevirt.io/v1/virtualmachineinstances?limit=250`);
  return z.object({ items: z.array(z.unknown()) }).parse(await answer.json()).items.length;
}

async function count(): Promise<number> {
  const cluster = connect({
    endpoint: { server, token: "t", headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) },
    signal: AbortSignal.timeout(60_000),
    onOddItem: () => undefined,
    now: () => new Date(0),
  });
  return (await cluster.listVmis("All")).length;
}

parentPort?.postMessage(await (how === "at once" ? countAtOnce() : count()), []);

/** What memory.test.ts runs in an isolate of limited memory: listing VMIs. Says how many there are. */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { createClient } from "../../../shared/kube/client.ts";

const { server } = z.object({ server: z.string() }).parse(workerData);

const cluster = createClient({
  endpoint: { server, token: "t", headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) },
  // Memory is the limit here, not time.
  signal: new AbortController().signal,
  timeout: () => new AbortController().signal,
  onOddItem: () => undefined,
});

parentPort?.postMessage((await cluster.list("virtualmachineinstances")).length, []);

/**
 * What memory.test.ts runs in an isolate of limited memory: listing VMIs, by the page as a whole or as Lifeboat does, looking at a whole
 * cluster, and at the room on ten nodes.
 */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod/mini";
import { createClient } from "../../../shared/kube/client.ts";
import { DEFAULT_SETTINGS } from "../../../shared/settings/settings.ts";
import { observeAll } from "../../../shared/reconcile/observe-all.ts";
import { observeNodes } from "../../../shared/reconcile/observe-nodes.ts";

const Order = z.object({ server: z.string(), how: z.enum(["at once", "as Lifeboat", "budgets", "rooms"]) });
const { server, how } = Order.parse(workerData);

const cluster = createClient({
  endpoint: { server, token: "t", headers: {}, fetch: (url: string, init: RequestInit) => fetch(url, init) },
  // Memory is the limit here, not time.
  signal: new AbortController().signal,
  timeout: () => new AbortController().signal,
  onOddItem: () => undefined,
});

const COUNT = {
  "at once": async () => {
    const answer = await fetch(`${server}/apis/kubevirt.io/v1/virtualmachineinstances?limit=250`);
    return z.object({ items: z.array(z.unknown()) }).parse(await answer.json()).items.length;
  },
  "as Lifeboat": async () => (await cluster.list("virtualmachineinstances")).length,
  budgets: async () => {
    const { world, unread } = await observeAll({ cluster, settings: DEFAULT_SETTINGS, now: new Date(0) });
    return world.budgets.length - unread.size;
  },
  rooms: async () => {
    const settings = { ...DEFAULT_SETTINGS, featureGates: ["NodePressureEvictionLiveMigration"] as const };
    const told = { requests: [{ kind: "Node", name: "node-0" }], pods: [], vmis: [], evacuations: [] } as const;
    const { takers } = await observeNodes(told, { cluster, settings, now: new Date(0) });
    return takers.length;
  },
};

parentPort?.postMessage(await COUNT[how](), []);

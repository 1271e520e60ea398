/** Descheduling on a stage: a policy in the cluster, cycles asked for through the Worker. */
import { dump } from "js-yaml";
import * as z from "zod/mini";
import { configMaps, nodes } from "../../infra/sandbox/index.ts";
import type { Stage } from "./stage.ts";

const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };

/** Both gates on, permissions for both, and nothing that a test has to wait for. */
export const DESCHEDULING = {
  optional: ["optional/descheduling/descheduling.yaml", "optional/descheduler-support/descheduler-support.yaml"],
  configuration: {
    featureGates: { EvictionsInBackground: true, DeschedulerSupport: true },
    // KubeVirt's own migrations are adopted, however slow its controller is.
    evacuation: { maxAttempts: 2, backoffSeconds: 0.2, maxBackoffSeconds: 60, adoptSeconds: 600 },
  },
};

export type PolicyFile = Readonly<Record<string, unknown>>;

const EVICTOR = { name: "DefaultEvictor", args: { podProtections: { defaultDisabled: ["PodsWithLocalStorage"] } } };

/** One plugin with its arguments, and top-level keys. */
export function policyOf(plugin: string, args: PolicyFile, keys: PolicyFile = {}): PolicyFile {
  const point = plugin === "LowNodeUtilization" ? "balance" : "deschedule";
  const profile = {
    name: "vms",
    pluginConfig: [EVICTOR, { name: plugin, args }],
    plugins: { [point]: { enabled: [plugin] } },
  };
  return { apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy", ...keys, profiles: [profile] };
}

export async function setPolicy({ client }: Stage, policy: PolicyFile | string): Promise<void> {
  const data = { "policy.yaml": typeof policy === "string" ? policy : dump(policy) };
  if ((await client.get(configMaps, POLICY)) === undefined) await client.create(configMaps, { metadata: POLICY, data });
  else await client.patch(configMaps, POLICY, { type: "merge", body: { data } });
}

const Listed = z.object({
  pod: z.string(),
  node: z.string(),
  outcome: z.optional(z.string()),
  why: z.optional(z.string()),
});
const Report = z.object({
  ended: z.string(),
  nodes: z.number(),
  evacuationsInProgress: z.number(),
  nominated: z.number(),
  results: z.record(z.string(), z.number()),
  requested: z.array(Listed),
  skipped: z.array(Listed),
  withdrawn: z.array(z.string()),
});
export type CycleAnswer = z.output<typeof Report>;

export async function cycle(stage: Stage, query = ""): Promise<CycleAnswer> {
  const { code, body } = await stage.ask("POST", `/deschedule${query}`);
  if (code !== 200) throw new Error(`deschedule answered ${code}: ${JSON.stringify(body)}`);
  return Report.parse(body);
}

/** Cycles, one after another, until one of them is as wanted. */
export async function cyclesUntil(stage: Stage, what: string, wanted: (answer: CycleAnswer) => boolean): Promise<void> {
  const end = Date.now() + 40_000;
  while (!wanted(await cycle(stage))) if (Date.now() > end) throw new Error(`no cycle was ${what}`);
}

/** VMs that are to be migrated, each with its budget. */
export async function createVms(
  stage: Stage,
  node: string,
  names: readonly string[],
  tweak: Partial<Parameters<Stage["createVm"]>[0]> = {},
): Promise<void> {
  await Promise.all(names.map((name) => stage.createVm({ name, evictionStrategy: "LiveMigrate", node, ...tweak })));
  await stage.reconcile();
}

/** No pod on it tolerates that; none is driven off by it either. */
export async function taint({ client }: Stage, name: string): Promise<void> {
  const taints = [{ key: "maintenance", value: "soon", effect: "NoSchedule" }];
  await client.patch(nodes, { name }, { type: "merge", body: { spec: { taints } } });
}

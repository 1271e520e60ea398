/** Which plugins there are. */
import type * as z from "zod/mini";
import type { EnabledPlugin } from "../cycle/policy.ts";
import { lowNodeUtilization } from "../plugins/low-node-utilization.ts";
import { nodeAffinity } from "../plugins/node-affinity.ts";
import { nodeTaints } from "../plugins/node-taints.ts";
import type { Plugin } from "../plugins/plugin.ts";
import { podLifeTime } from "../plugins/pod-life-time.ts";
import { type Parsed, parseConfig } from "../../config/problem.ts";
import { LowNodeUtilization, NodeAffinity, NodeTaints, PodLifeTime } from "./plugin-arguments.ts";

/** A plugin that waits for its arguments; `field` is where they are. */
export interface RegisteredPlugin extends Pick<EnabledPlugin, "name" | "extensionPoint"> {
  configure(args: unknown, field: string): Parsed<EnabledPlugin>;
}

function registered<Args>(plugin: Plugin<Args>, schema: z.ZodMiniType<Args>): RegisteredPlugin {
  const { name, extensionPoint } = plugin;
  return {
    name,
    extensionPoint,
    configure: (input, field) => {
      const args = parseConfig(schema, input, field);
      if (!args.ok) return args;
      return { ok: true, value: { name, extensionPoint, nominate: (world) => plugin.nominate(args.value, world) } };
    },
  };
}

const TABLE: readonly RegisteredPlugin[] = [
  registered(lowNodeUtilization, LowNodeUtilization),
  registered(nodeTaints, NodeTaints),
  registered(nodeAffinity, NodeAffinity),
  registered(podLifeTime, PodLifeTime),
];

export const PLUGINS: ReadonlyMap<string, RegisteredPlugin> = new Map(TABLE.map((plugin) => [plugin.name, plugin]));

export const DEFAULT_EVICTOR = "DefaultEvictor";

const SUPPORTED = [...PLUGINS.keys(), DEFAULT_EVICTOR];

/** Of the descheduler, but of little use for VMs. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  "HighNodeUtilization",
  "RemoveDuplicates",
  "RemoveFailedPods",
  "RemovePodsHavingTooManyRestarts",
  "RemovePodsViolatingInterPodAntiAffinity",
  "RemovePodsViolatingTopologySpreadConstraint",
]);

/** What is wrong with the name of a plugin, if anything is. */
export function problemOfName(name: string): string | undefined {
  if (UNSUPPORTED.has(name)) return `${name} is not supported by Lifeboat, which has: ${SUPPORTED.join(", ")}`;
  return SUPPORTED.includes(name) ? undefined : `unknown plugin, expected one of ${SUPPORTED.join(", ")}`;
}

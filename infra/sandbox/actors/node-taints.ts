/** Determines the taints of a node from its conditions and its spec. */
import { findCondition } from "./conditions.ts";
import type { Taint } from "./node-fit.ts";
import type { Node } from "./resources.ts";

const PREFIX = "node.kubernetes.io/";

type Effect = "NoSchedule" | "NoExecute";

// prettier-ignore
const TABLE: readonly { readonly type: string; readonly status: string; readonly key: string; readonly effects: readonly Effect[] }[] = [
  { type: "Ready",              status: "False",   key: "not-ready",           effects: ["NoSchedule", "NoExecute"] },
  { type: "Ready",              status: "Unknown", key: "unreachable",         effects: ["NoSchedule", "NoExecute"] },
  { type: "MemoryPressure",     status: "True",    key: "memory-pressure",     effects: ["NoSchedule"]              },
  { type: "DiskPressure",       status: "True",    key: "disk-pressure",       effects: ["NoSchedule"]              },
  { type: "PIDPressure",        status: "True",    key: "pid-pressure",        effects: ["NoSchedule"]              },
  { type: "NetworkUnavailable", status: "True",    key: "network-unavailable", effects: ["NoSchedule"]              },
];
const UNSCHEDULABLE = `${PREFIX}unschedulable`;

/** Returns the taints that the node should have. Returns undefined if the node already has these taints. */
export function taintsFor(node: Node, now: string): Taint[] | undefined {
  const wanted = TABLE.filter(({ type, status }) => findCondition(node.status?.conditions, type)?.status === status)
    .flatMap(({ key, effects }) => effects.map((effect): Taint => ({ key: PREFIX + key, effect })))
    .concat(node.spec?.unschedulable === true ? [{ key: UNSCHEDULABLE, effect: "NoSchedule" }] : []);
  const there = node.spec?.taints ?? [];
  const kept = there.filter((taint) => !isManaged(taint) || includes(wanted, taint));
  const missing = wanted.filter((taint) => !includes(there, taint));
  if (missing.length === 0 && kept.length === there.length) return undefined;
  return [...kept, ...missing.map((taint) => ({ ...taint, timeAdded: now }))];
}

function isManaged({ key, effect }: Taint): boolean {
  const managed = TABLE.some((row) => PREFIX + row.key === key && row.effects.some((one) => one === effect));
  return managed || (key === UNSCHEDULABLE && effect === "NoSchedule");
}

function includes(taints: readonly Taint[], { key, effect }: Taint): boolean {
  return taints.some((other) => other.key === key && other.effect === effect);
}

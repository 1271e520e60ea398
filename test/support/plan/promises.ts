/** Compares a plan with what really happens to the VMs. A VM's outcome is its worst outcome on any node. */
import type { PodVerdict } from "../../../shared/preflight/facts.ts";
import type { NodePlan } from "../../../shared/plan/facts.ts";
import { observePlan } from "../../../shared/plan/read.ts";
import { HELD_BACK, type Plan, planOf } from "../../../shared/plan/plan.ts";
import { connectTo } from "../client.ts";
import { FakeCluster } from "../cluster.ts";
import { NOW, settings } from "../fixtures.ts";
import { isObject, type Json } from "../json.ts";
import type { Fate, Step } from "./carried-out.ts";
import { options } from "./clusters.ts";

export async function planFor(
  objects: Readonly<Record<string, readonly Json[]>>,
  nodes: readonly string[],
): Promise<Plan> {
  const fake = new FakeCluster();
  for (const [resource, all] of Object.entries(objects))
    for (const one of all.filter(isObject)) fake.api.put(resource, one);
  const f = await observePlan({ cluster: connectTo(fake), settings: settings(), now: NOW });
  return planOf(f, options(f, { nodes }));
}

export interface Compared {
  readonly vms: number;
  /** The number of VMs whose outcome the plan predicts correctly. */
  readonly right: number;
  /** The number of VMs for which the plan predicts no outcome on some node. */
  readonly unknown: number;
  /** Descriptions of the VMs whose outcome the plan predicts wrongly. */
  readonly wrong: readonly string[];
  /** Nodes where a VM stayed, although the plan predicted that every VM leaves. */
  readonly brokenPromises: readonly string[];
  readonly verdicts: readonly string[];
}

export function compare({ nodes }: Plan, steps: readonly Step[]): Compared {
  const planned = worst(nodes.map(fatesIn));
  const happened = worst(steps.map(({ fates }) => fates));
  const names = [...happened.keys()];
  const wrong = names.filter((vm) => planned.get(vm) !== "Unknown" && planned.get(vm) !== happened.get(vm));
  const unknown = names.filter((vm) => planned.get(vm) === "Unknown").length;
  return {
    vms: names.length,
    right: names.length - unknown - wrong.length,
    unknown,
    wrong: wrong.map((vm) => `${vm}: ${planned.get(vm) ?? "nothing"}, and it ${happened.get(vm) ?? ""}`),
    brokenPromises: nodes.flatMap((node, at) => brokenBy(node, steps[at])),
    verdicts: nodes.map(({ verdict }) => verdict),
  };
}

const WORST_FIRST = ["Unknown", "Stays", "ShutsDown", "Moves"] as const;
type Said = (typeof WORST_FIRST)[number];

function worst(all: readonly ReadonlyMap<string, Said>[]): ReadonlyMap<string, Said> {
  const found = new Map<string, Said>();
  for (const [vm, fate] of all.flatMap((fates) => [...fates])) {
    const before = found.get(vm) ?? "Moves";
    found.set(vm, WORST_FIRST.find((one) => one === before || one === fate) ?? fate);
  }
  return found;
}

function fatesIn({ pods, unsure }: NodePlan): ReadonlyMap<string, Said> {
  const isUnsure = ({ namespace, vmi = "" }: PodVerdict) => unsure.includes(`${namespace}/${vmi}`);
  const isKept = pods.some(stays);
  return new Map(
    pods.flatMap((pod): (readonly [string, Said])[] =>
      pod.vmi === undefined ? [] : [[pod.vmi, isUnsure(pod) ? "Unknown" : fateOf(pod, isKept)]],
    ),
  );
}

/** Returns the outcome that the plan predicts. Lifeboat shuts down no guest on a node where another VM stays. */
function fateOf(pod: PodVerdict, isKept: boolean): Fate {
  if (stays(pod) || pod.reason === HELD_BACK) return "Stays";
  if (pod.outcome !== "ShutsDown") return "Moves";
  return isKept ? "Stays" : "ShutsDown";
}

function stays({ outcome, room }: PodVerdict): boolean {
  return outcome === "Blocked" || outcome === "Stays" || room?.fits === false;
}

const KEPT: Readonly<Partial<Record<NodePlan["verdict"], readonly Fate[]>>> = {
  WillSucceed: ["Moves"],
  WillSucceedWithShutdowns: ["Moves", "ShutsDown"],
};

function brokenBy({ node, verdict }: NodePlan, step: Step | undefined): readonly string[] {
  const may = KEPT[verdict];
  const others = [...(step?.fates ?? [])].filter(([, fate]) => may !== undefined && !may.includes(fate));
  return others.map(([vm, fate]) => `${node}: ${verdict}, and ${vm} ${fate}`);
}

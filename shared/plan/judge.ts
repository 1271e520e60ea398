/** Decides the verdict on one node, in the same way as a NodeEvacuation does. */
import { isActive } from "../kube/evacuation.ts";
import type { BudgetFacts } from "../kube/facts.ts";
import { isFinal, isOfLiveVm, keyOf, vmiNameOf } from "../kube/objects.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { type Facts, factsFrom, type Question } from "../facts/facts.ts";
import { flagsOf } from "../maintenance/beside.ts";
import { forecastOf, mayStart } from "../maintenance/forecast.ts";
import type { NodeWorld } from "../maintenance/world.ts";
import type { Preflight, PreflightFacts, PreflightPod } from "../preflight/facts.ts";
import { PREFLIGHT_MESSAGES } from "../preflight/messages.ts";
import { isInTheWay } from "../preflight/verdict.ts";
import type { PlanFacts, PlanOptions } from "./facts.ts";
import { PLAN_MESSAGES } from "./messages.ts";
import { type Judged, type Placement, podsElsewhere } from "./placement.ts";

export interface Given {
  readonly facts: PlanFacts;
  readonly options: Pick<PlanOptions, "template" | "at">;
  readonly budgetsIn: ReadonlyMap<string, readonly BudgetFacts[]>;
  readonly scoring?: PreflightFacts["scoring"];
  readonly lots?: PreflightFacts["lots"];
}

export function givenBy(facts: PlanFacts, options: Given["options"]): Given {
  return { facts, options, budgetsIn: Map.groupBy(facts.budgets, ({ namespace }) => namespace) };
}

export interface NodeJudged {
  readonly found: Preflight;
  readonly isRefused: boolean;
  readonly judged: Judged;
}

/** Returns the verdict on a node. Returns undefined if the node does not exist. */
export function judge(name: string, p: Placement, given: Given): NodeJudged | undefined {
  const facts = factsFor(name, p, given);
  if (facts === undefined) return undefined;
  const { found } = forecastOf(facts, worldFor(facts, given));
  const isRefused = !mayStart(given.options.template.startIf, found.verdict) && !isUnjudged(found, facts);
  const isForced = given.options.template.forceShutdowns;
  const isKept = found.pods.some((pod) => isInTheWay(pod) && pod.outcome !== "ShutsDown");
  const verdicts = new Map(found.pods.map((pod) => [keyOf(pod), pod]));
  return { found, isRefused, judged: { facts, vms: given.facts.vms, verdicts, mayEnd: isForced || !isKept } };
}

/**
 * Returns true if the verdict is Unknown because some facts could not be read. In the cluster, Lifeboat's own verdict
 * can differ, because Lifeboat might be allowed to read more than the user.
 */
export function isUnjudged({ verdict }: Preflight, { unread }: Pick<PreflightFacts, "unread">): boolean {
  return verdict === "Unknown" && unread.length > 0;
}

function factsFor(name: string, p: Placement, { facts, options, budgetsIn, scoring, lots }: Given) {
  const node = p.nodes.find((one) => one.name === name);
  if (node === undefined) return undefined;
  const isUnread = (pod: PreflightPod) =>
    facts.unreadVmis?.has(keyOf({ ...pod, name: vmiNameOf(pod) ?? "" })) === true && isOfLiveVm(pod);
  const here = p.podsOn.get(name) ?? [];
  const pods = here.filter((pod) => !isUnread(pod));
  const vmis = [...p.vmis.values()].filter((vmi) => vmi.nodeName === name && !isFinal(vmi));
  const vmKeys = new Set(vmis.map(keyOf));
  const isHere = (namespace: string, vm: string) => vmKeys.has(keyOf({ namespace, name: vm }));
  const namespaces = new Set(pods.map(({ namespace }) => namespace));
  const { settings, now, volumes, quotas, unread } = facts;
  return {
    settings,
    now,
    volumes,
    quotas,
    unread: [...unread, ...here.filter(isUnread).map(PREFLIGHT_MESSAGES.unreadVmi)],
    node,
    pods,
    vmis,
    otherNodes: p.nodes.filter((one) => one !== node),
    otherPods: podsElsewhere(p, name),
    evacuations: p.evacuations.filter((one) => isHere(one.namespace, one.spec.vmiName)),
    migrations: p.migrations.filter((one) => isHere(one.namespace, one.vmiName)),
    // This list is empty, because the plan estimates the duration of migrations itself.
    finished: [],
    migratingElsewhere: [...p.vmis.values()].filter((vmi) => vmi.isMigrating && vmi.nodeName !== name),
    budgets: [...namespaces].flatMap((namespace) => budgetsIn.get(namespace) ?? []),
    leavingElsewhere: [],
    flags: flagsOf(nodeEvacuationOf(name, options).spec),
    present: p.present,
    ...(scoring && { scoring }),
    ...(lots !== undefined && { lots }),
  } satisfies PreflightFacts;
}

function worldFor(facts: PreflightFacts, { facts: { settings, vms }, options }: Given): NodeWorld {
  const ne = nodeEvacuationOf(facts.node.name, options);
  return { ne, facts: factsOn(facts, vms), settings, now: options.at, isThorough: true };
}

function factsOn({ node, otherNodes, evacuations }: PreflightFacts, vms: PlanFacts["vms"]): Facts {
  return factsFrom(({ kind, key }) => {
    switch (resourceOf(kind)) {
      case "virtualmachines":
        return { value: key && vms.get(keyOf(key)) };
      case "nodes":
        return { value: [node, ...otherNodes] };
      case "evacuations":
        return { value: evacuations.filter(isActive) };
      default:
        throw new Error(PLAN_MESSAGES.notInPlan(resourceOf(kind)));
    }
  });
}

function resourceOf(kind: Question["kind"]): string {
  return typeof kind === "string" ? kind : kind.resource;
}

function nodeEvacuationOf(nodeName: string, { template }: Given["options"]): NodeEvacuationFacts {
  return {
    name: nodeName,
    uid: nodeName,
    resourceVersion: "",
    createdAt: 0,
    isCommands: false,
    spec: {
      ...template,
      nodeName,
      intent: "Evacuate",
      progress: "Running",
      schedule: {},
      returnVMs: "Never",
    },
    status: { blockers: [], outcomes: [], conditions: [] },
  };
}

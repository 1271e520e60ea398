/** Random fleets: the plan is made, then the nodes are maintained one after the other as the sandbox's scheduler places pods. */
import { expect, test } from "vitest";
import { NodeWithResources } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { SCHEMAS } from "../../../shared/kube/resources.ts";
import type { NodePlan, PlanFacts } from "../../../shared/plan/facts.ts";
import { planPodSchema, VmiOfPlan } from "../../../shared/plan/kinds.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { carryOut, type Fate } from "../../support/plan/carried-out.ts";
import { cluster, options } from "../../support/plan/clusters.ts";
import { type Fleet, fleets, objectsOf } from "../../support/plan/fleet.ts";

const FLEETS = Number(process.env["PLAN_FLEETS"] ?? 10);
const SEED = 20_261_128;

function factsOf(fleet: Fleet): PlanFacts {
  const objects = objectsOf(fleet);
  const pod = planPodSchema();
  const vms = objects.virtualmachines.map((one) => SCHEMAS.virtualmachines.facts.parse(one));
  return cluster(
    {},
    {
      nodes: objects.nodes.map((one) => NodeWithResources.parse(one)),
      pods: objects.pods.map((one) => pod.parse(one)),
      vmis: objects.virtualmachineinstances.map((one) => VmiOfPlan.parse(one)),
      vms: new Map(vms.map((vm) => [`${vm.namespace}/${vm.name}`, vm])),
    },
  );
}

/** Only VMs leave, and guests may end whatever else blocks the node: as `carryOut` does it. */
function planFor(f: PlanFacts) {
  const asked = options(f);
  return planOf(f, { ...asked, template: { ...asked.template, otherPods: "Leave", forceShutdowns: true } });
}

function saidOf({ pods }: NodePlan): ReadonlyMap<string, Fate> {
  return new Map(pods.flatMap((pod) => (pod.vmi === undefined ? [] : [[pod.vmi, fateOf(pod)] as const])));
}

function fateOf({ outcome, room }: NodePlan["pods"][number]): Fate {
  if (outcome === "ShutsDown") return "ShutsDown";
  return outcome === "Moves" && room?.fits === true ? "Moves" : "Stays";
}

test(`${FLEETS} random fleets: outcomes of VMs come true, and every promise holds`, { timeout: 3_600_000 }, () => {
  let [all, right] = [0, 0];
  const broken: string[] = [];
  for (const fleet of fleets(FLEETS, SEED)) {
    const { nodes } = planFor(factsOf(fleet));
    const steps = carryOut(
      fleet,
      nodes.map(({ node }) => node),
    );
    nodes.forEach((plan, at) => {
      const fates = steps[at]?.fates ?? new Map<string, Fate>();
      const said = saidOf(plan);
      all += fates.size;
      right += [...fates].filter(([vm, fate]) => said.get(vm) === fate).length;
      const isPromised = plan.verdict === "WillSucceed" || plan.verdict === "WillSucceedWithShutdowns";
      if (isPromised && [...fates.values()].includes("Stays")) broken.push(plan.node);
    });
  }
  expect(broken).toEqual([]);
  expect(all).toBeGreaterThan(FLEETS * 200);
  expect(right / all).toBeGreaterThanOrEqual(0.995);
});

/** What a whole policy nominates, with the real plugins and DefaultEvictor, on any cluster with VMs on the move. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { defaultEvictor } from "../../../shared/descheduling/plugins/default-evictor.ts";
import type { DeschedulerPod } from "../../../shared/descheduling/plugins/facts.ts";
import { nominate, type NominationWorld } from "../../../shared/descheduling/cycle/nominations.ts";
import type { Verdict } from "../../../shared/descheduling/plugins/plugin.ts";
import { isCompleted, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { NOW } from "../../policy/fixtures.ts";
import { type AnyCluster, anyCluster } from "../any-cluster.ts";
import { evictorArguments, evictorWorld } from "../fixtures.ts";
import { REAL_PLUGINS } from "../plugins/plugins.ts";
import { policy, vmiOf } from "../worlds.ts";

/** `Unlisted`: on the VMI's node, but KubeVirt does not count it among its own. `Unknown`: its VMI was not found. */
const ROLES = ["Plain", "Source", "Target", "Unlisted", "Unknown"] as const;
type Role = (typeof ROLES)[number];

interface Given {
  readonly cluster: AnyCluster;
  readonly roles: readonly Role[];
  readonly unready: readonly boolean[];
  readonly selected: boolean;
}

const given: fc.Arbitrary<Given> = fc.record({
  cluster: anyCluster,
  roles: fc.array(fc.constantFrom(...ROLES), { minLength: 1, maxLength: 9 }),
  unready: fc.array(fc.constantFrom(false, false, false, true), { minLength: 4, maxLength: 4 }),
  selected: fc.boolean(),
});

function cast(pod: DeschedulerPod, role: Role): DeschedulerPod {
  if (role === "Plain") return pod;
  const labels = { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": `vmi-${pod.name}` };
  return { ...pod, labels, annotations: { ...pod.annotations, "kubevirt.io/domain": pod.name } };
}

function vmiFor(pod: DeschedulerPod, role: Role): readonly VmiFacts[] {
  switch (role) {
    case "Plain":
    case "Unknown":
      return [];
    case "Source":
      return [vmiOf(pod)];
    case "Target":
      return [vmiOf(pod, { nodeName: "elsewhere", activePods: { source: "elsewhere", [pod.uid]: pod.nodeName } })];
    case "Unlisted":
      return [vmiOf(pod, { activePods: { source: pod.nodeName } })];
  }
}

function worldOf({ cluster, roles, unready }: Given) {
  const roleOf = (i: number): Role => roles[i % roles.length] ?? "Plain";
  const pods = cluster.pods.map((pod, i) => cast(pod, roleOf(i)));
  const nodes = cluster.nodes.map((one, i) => ({ ...one, ready: unready[i] !== true }));
  const vmis = new Map(pods.flatMap((pod, i) => vmiFor(pod, roleOf(i))).map((vmi) => [keyOf(vmi), vmi]));
  // What has ended may go, whatever it was.
  const isSpared = new Map(
    pods.map((pod, i) => [pod.uid, !["Plain", "Source"].includes(roleOf(i)) && !isCompleted(pod)]),
  );
  const world: NominationWorld = {
    nodes,
    pods,
    vmis,
    now: NOW,
    namespaces: new Map(),
    priorityClasses: new Map(),
    budgets: new Map(),
    storageClasses: new Map(),
    isInProgress: ({ name }) => cluster.inProgress.includes(name),
  };
  return { world, isSpared };
}

function nominated({ cluster, selected }: Given, world: NominationWorld): readonly DeschedulerPod[] {
  const profile = { name: "vms", plugins: REAL_PLUGINS, evictor: defaultEvictor(argumentsOf(cluster)) };
  const nodeSelector = { matchLabels: { zone: "a" }, matchExpressions: [] };
  const chosen = policy([], { profiles: [profile], ...(selected ? { nodeSelector } : {}) });
  const pods: DeschedulerPod[] = [];
  const nominations = nominate(chosen, world);
  for (let next = nominations.next(); next.done !== true;) {
    const verdict: Verdict = cluster.verdicts[pods.length % cluster.verdicts.length] ?? "Accepted";
    pods.push(next.value.pod);
    next = nominations.next(verdict);
  }
  return pods;
}

function argumentsOf({ nodeFit }: AnyCluster) {
  return evictorArguments({ nodeFit, noEvictionPolicy: "Mandatory" });
}

test("never a migration's target, never a pod that may not go, never from a node that is not looked at", () => {
  let [count, moving] = [0, 0];
  fc.assert(
    fc.property(given, (g) => {
      const { world, isSpared } = worldOf(g);
      const everywhere = { nodes: world.nodes.filter(({ ready }) => ready), pods: world.pods };
      const evictor = defaultEvictor(argumentsOf(g.cluster))(evictorWorld(everywhere));
      const looked = everywhere.nodes.filter(({ labels }) => !g.selected || labels["zone"] === "a");
      const pods = nominated(g, world);
      for (const pod of pods) {
        expect(isSpared.get(pod.uid)).toBe(false);
        expect([evictor.filter(pod), evictor.preEvictionFilter(pod)]).toEqual([true, true]);
        expect(looked.map(({ name }) => name)).toContain(pod.nodeName);
      }
      if (looked.length < 2) expect(pods).toEqual([]);
      count += pods.length;
      moving += pods.filter(({ labels }) => "kubevirt.io" in labels).length;
    }),
    { seed: 20_260_303, numRuns: 500 },
  );
  expect([count > 500, moving > 100]).toEqual([true, true]);
});

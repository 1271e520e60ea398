/** Tests the nominations of a policy: which pods and nodes the policy skips, and the order of its plugins. */
import { describe, expect, test } from "vitest";
import type { DeschedulerPolicy, EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import { nominate } from "../../../../shared/descheduling/cycle/nominations.ts";
import { nodeFit } from "../../../../shared/descheduling/plugins/node-fit.ts";
import { type GuestAsks, PLAIN } from "../../../../shared/kube/guest.ts";
import type { ScheduledNode, ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import type { VmiFacts } from "../../../../shared/kube/facts.ts";
import { labelled, evictorWorld, node } from "../../../support/descheduling/fixtures.ts";
import { plainPod, policy, vmiOf, vmPod } from "../../../support/descheduling/worlds.ts";
import { keyOf } from "../../../../shared/kube/objects.ts";
import { settings } from "../../../support/fixtures.ts";

const everything = (name: string, extensionPoint: EnabledPlugin["extensionPoint"] = "deschedule"): EnabledPlugin => ({
  name,
  extensionPoint,
  *nominate(world) {
    for (const pod of world.nodes.flatMap(({ name }) => world.podsOn(name)))
      if (world.evictor.filter(pod)) yield { pod };
  },
});

interface Given {
  readonly pods: readonly ScheduledPod[];
  readonly nodes?: readonly ScheduledNode[];
  readonly vmis?: readonly VmiFacts[];
  readonly policy?: Partial<DeschedulerPolicy>;
  readonly plugin?: EnabledPlugin;
}

const TWO = [node("node01"), node("node02")];

function nominated({
  pods,
  nodes = TWO,
  vmis = [],
  policy: tweak = {},
  plugin = everything("Everything"),
}: Given): readonly string[] {
  const vmisByKey = new Map(vmis.map((vmi) => [keyOf(vmi), vmi]));
  const world = { ...evictorWorld({ nodes, pods }), pods, settings: settings(), vmis: vmisByKey };
  const nominations = nominate(policy([plugin], tweak), world);
  const found: string[] = [];
  for (let next = nominations.next(); next.done !== true; next = nominations.next("Accepted")) {
    const { profile, plugin, pod } = next.value;
    found.push(`${profile}/${plugin} ${pod.nodeName}/${pod.uid}`);
  }
  return found;
}

const VM = vmPod("web");
const moving = (from: string, ...activePods: readonly string[]) =>
  vmiOf(VM, { nodeName: from, activePods: Object.fromEntries(activePods.map((uid) => [uid, "node01"])) });

// prettier-ignore
test.each([
  ["an ordinary pod",                                  plainPod("web"), [],                                     true ],
  ["the pod that a VM runs in",                        VM,              [vmiOf(VM)],                            true ],
  ["the target of a migration",                        VM,              [moving("node02", "pod-web", "other")], false],
  ["a pod on its VMI's node that is not an active pod of the VMI", VM,              [moving("node01", "other")],            false],
  ["a launcher pod whose VMI is not known",            VM,              [],                                     false],
  ["a launcher pod that has ended",                    vmPod("web", { phase: "Succeeded" }), [],                false],
  ["an ordinary pod that has ended",                   plainPod("web", { phase: "Succeeded" }), [],             true ],
] as const)("%s: nominated $3", (_, pod, vmis, expected) => {
  expect(nominated({ pods: [pod], vmis })).toEqual(expected ? ["vms/Everything node01/pod-web"] : []);
});

describe("nodes", () => {
  const pods = [plainPod("a"), plainPod("b", { nodeName: "node02" }), plainPod("c", { nodeName: "node03" })];
  const zone = { labels: { zone: "a" } };
  const inZone = { nodeSelector: labelled({ zone: "a" }) };
  // prettier-ignore
  test.each<[string, readonly ScheduledNode[], Partial<DeschedulerPolicy>, readonly string[]]>([
    ["all that are Ready",                 [...TWO, node("node03", { ready: false })],                          {},      ["pod-a", "pod-b"]],
    ["that the policy selects",            [node("node01", zone), node("node02"), node("node03", zone)],        inZone,  ["pod-a", "pod-c"]],
    ["none, if only one is selected",      [node("node01", zone), node("node02"), node("node03")],              inZone,  []],
  ])("%s", (_, nodes, tweak, expected) => {
    expect(nominated({ pods, nodes, policy: tweak }).map((found) => found.split("/").at(-1))).toEqual(expected);
  });
});

test("all deschedule plugins of all profiles come before the first balance plugin", () => {
  const [profile] = policy([]).profiles;
  if (profile === undefined) throw new Error("no profile");
  const plugins = [everything("B", "balance"), everything("D1"), everything("D2")];
  const profiles = ["p", "q"].map((name) => ({ ...profile, name, plugins }));
  const found = nominated({ pods: [plainPod("a")], policy: { profiles } });
  expect(found.map((one) => one.split(" ")[0])).toEqual(["p/D1", "p/D2", "q/D1", "q/D2", "p/B", "q/B"]);
});

const fitting: EnabledPlugin = {
  name: "Fitting",
  extensionPoint: "deschedule",
  *nominate(world) {
    const { fitsAnyOther } = nodeFit(world.nodes, world);
    for (const pod of world.nodes.flatMap(({ name }) => world.podsOn(name))) if (fitsAnyOther(pod)) yield { pod };
  },
};

// prettier-ignore
test.each<[string, asks: Partial<GuestAsks>, expected: readonly string[]]>([
  ["if the VM selects that node, too, the pod stays",            { nodeSelector: { "kubernetes.io/hostname": "node01" } }, []],
  ["if only the last migration selected that node, the pod is nominated", {},                                                      ["vms/Fitting node01/pod-web"]],
])("a launcher pod whose nodeSelector has its own node's name: %s", (_, asks, expected) => {
  const nodes = TWO.map((one) => ({ ...one, labels: { "kubernetes.io/hostname": one.name } }));
  const pod = vmPod("web", { placement: { nodeSelector: { "kubernetes.io/hostname": "node01" } } });
  const vmis = [vmiOf(pod, { asks: { ...PLAIN, cpuModel: "host-passthrough", ...asks } })];
  expect(nominated({ pods: [pod], nodes, vmis, plugin: fitting })).toEqual(expected);
});

/** Tests the reasons not to power off a node after its drain. */
import { expect, test } from "vitest";
import type { VolumeAttachmentFacts } from "../../../shared/kube/schemas/storage.ts";
import type { AttachedVolumes, PlanFacts } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { owner } from "../../support/fixtures.ts";
import { cluster, options, ordinary, type Resident, vm } from "../../support/plan/clusters.ts";

const claims = ["data"];
const agents = { claims, owners: [owner({ kind: "DaemonSet", name: "agent" })] };

const attachment = (tweak: Partial<VolumeAttachmentFacts> = {}): VolumeAttachmentFacts => {
  return { name: "csi-1", nodeName: "node01", persistentVolumeName: "pv-1", ...tweak };
};

const claimed = { name: "pv-1", claim: { namespace: "apps", name: "data" } };

function attached(tweak: Partial<AttachedVolumes> = {}): Partial<PlanFacts> {
  return { attached: { attachments: [attachment()], volumes: [claimed], ...tweak } };
}

function powerOff(residents: readonly Resident[], facts: Partial<PlanFacts>, nodes = ["node01"]) {
  const f = cluster({ node01: residents, node02: [], node03: [] }, facts);
  return planOf(f, options(f, { nodes })).nodes.map((node) => node.powerOff);
}

const STAYS = "volumes stay attached: data of pod apps/agent";
const UNUSED = "volumes are attached, and no pod of the node uses them: pv-1 (kubectl get volumeattachments)";

// prettier-ignore
test.each<readonly [string, readonly Resident[], Partial<PlanFacts>, readonly string[]]>([
  ["of a VM that leaves",                        [vm("a", 2, { pod: { claims } })],                        attached(),  []],
  ["of a pod that leaves",                       [ordinary("web", 1, { claims })],                         attached(),  []],
  ["of a pod that leaves, ephemeral", [ordinary("web", 1, { ephemeralClaims: ["data"] })],      attached(),  []],
  ["of a DaemonSet's pod",                       [ordinary("agent", 1, agents)],                           attached(),  [STAYS]],
  ["of a DaemonSet's pod, ephemeral",            [ordinary("agent", 1, { ...agents, claims: [], ephemeralClaims: claims })], attached(), [STAYS]],
  ["of a pod that has ended",                    [ordinary("job", 1, { claims, phase: "Succeeded" })],     attached(),  [UNUSED]],
  ["of no pod",                                  [vm("a")],                                                attached(),  [UNUSED]],
  ["of no pod, on a node without pods",          [],                                                       attached(),  [UNUSED]],
  ["without a claim",                            [vm("a", 2, { pod: { claims } })],                        attached({ volumes: [{ name: "pv-1" }] }), [UNUSED]],
  ["whose claim another namespace has",          [vm("a", 2, { pod: { claims } })],                        attached({ volumes: [{ name: "pv-1", claim: { namespace: "other", name: "data" } }] }), [UNUSED]],
  ["that is not a PersistentVolume",             [vm("a")],                                                attached({ attachments: [{ name: "csi-1", nodeName: "node01" }] }), []],
  ["that is attached to another node",           [vm("a")],                                                attached({ attachments: [attachment({ nodeName: "node02" })] }), []],
  ["that was not read",                          [vm("a")],                                                {},          []],
])("a volume %s", (_, residents, facts, expected) => {
  expect(powerOff(residents, facts)).toEqual([expected]);
});

test("at most three unused volumes are named", () => {
  const attachments = [1, 2, 3, 4, 5].map((n) => attachment({ name: `csi-${n}`, persistentVolumeName: `pv-${n}` }));
  expect(powerOff([], attached({ attachments }))).toEqual([
    [
      "volumes are attached, and no pod of the node uses them: pv-1, pv-2, pv-3 and 2 more (kubectl get volumeattachments)",
    ],
  ]);
});

test("a volume that no pod on its node uses counts as unused, even if a drain brings a pod that uses the volume", () => {
  const residents = [vm("a", 2, { pod: { claims } })];
  const onNode02 = attached({ attachments: [attachment({ nodeName: "node02" })] });
  expect(powerOff(residents, onNode02, ["node01", "node02"])).toEqual([[], [UNUSED]]);
});

test("lists that matter only after the drain change no verdict, and the plan names them", () => {
  const f = cluster({ node01: [vm("a")], node02: [] }, { unreadAfterwards: ["which volumes stay attached"] });
  expect(planOf(f, options(f, { nodes: ["node01"] }))).toMatchObject({
    verdict: "WillSucceed",
    unread: ["which volumes stay attached"],
  });
});

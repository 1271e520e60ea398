/** What administrators of KubeVirt fleets asked for, thread by thread: what a preflight tells them before the drain begins. */
import { describe, expect, test } from "vitest";
import type { PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { MOBILITY, PINNED } from "../fixtures.ts";
import { facts, foreignBudget, GIB, launcher, node, plainPod, vmiOf } from "./fixtures.ts";

const vm = (tweak: Parameters<typeof vmiOf>[1], more: Partial<PreflightFacts> = {}) =>
  preflight(facts({ vmis: [vmiOf("web", tweak)], ...more }));
const selecting = (nodeSelector: Record<string, string>) => [launcher("web", { placement: { nodeSelector } })];
const noRoom = (more: Partial<PreflightFacts>) => {
  const { verdict, pods } = vm({}, more);
  return { verdict, message: pods[0]?.room?.message };
};

describe("a VM that cannot migrate blocks a drain for ever", () => {
  test("kubevirt/kubevirt#8555: with LiveMigrateIfPossible it does not; with LiveMigrate it does, and who can change that is told", () => {
    expect(vm({ ...PINNED, evictionStrategy: "LiveMigrateIfPossible" }).verdict).toBe("WillSucceedWithShutdowns");
    const { verdict, summary, pods } = vm(PINNED);
    expect({ verdict, summary }).toEqual({
      verdict: "WillBlock",
      summary: "draining node01 will block: 1 pod cannot be evicted",
    });
    expect(pods[0]?.message).toContain(MOBILITY.pinned.reason);
    expect(pods[0]?.remedy).toContain("LiveMigrateIfPossible");
  });

  test("harvester/harvester#5306: of two VMs one may run on this node only: that is said before it is tried again and again", () => {
    const pods = [...selecting({ "kubernetes.io/hostname": "node01" }), launcher("db")];
    const answer = preflight(facts({ pods, vmis: [vmiOf("web"), vmiOf("db")] }));
    expect(answer.verdict).toBe("NoRoom");
    expect(answer.pods.map(({ room }) => room?.fits)).toEqual([false, true]);
    expect(answer.pods[0]?.room?.message).toBe("no other node has room for it: NodeAffinity");
  });
});

describe("without a fitting target the evacuation goes round in circles", () => {
  test("harvester/harvester#10698: no other node has the VM's CPU model", () => {
    const pods = selecting({ "cpu-model.node.kubevirt.io/EPYC-Milan": "true" });
    expect(noRoom({ pods })).toEqual({ verdict: "NoRoom", message: "no other node has room for it: NodeAffinity" });
  });

  test("harvester/harvester#8298: no node has as much memory free; what keeps it from the others is named", () => {
    const nodes = [node("node02", { unschedulable: true }), node("node03", { allocatable: { memory: GIB } })];
    const message = "no other node has room for it: Resources, Taints";
    expect(noRoom({ otherNodes: nodes })).toEqual({ verdict: "NoRoom", message });
  });

  test("kubevirt/kubevirt#9585: the VM's anti-affinity lets it onto no other node", () => {
    const selector = { matchLabels: { app: "db" }, matchExpressions: [] };
    const antiAffinity = [{ topologyKey: "kubernetes.io/hostname", namespaces: [], selector }];
    const { requests, placement } = launcher("web");
    const db = { ...plainPod("db"), nodeName: "node02", requests, placement };
    const found = noRoom({ pods: [launcher("web", { antiAffinity })], otherPods: [db] });
    expect(found).toEqual({ verdict: "NoRoom", message: "no other node has room for it: PodAntiAffinity" });
  });
});

describe("will this drain succeed?", () => {
  test("harvester/harvester#1014: not on the last node", () => {
    expect(vm({}, { otherNodes: [] })).toMatchObject({ verdict: "NoRoom", pods: [{ room: { nodes: 0 } }] });
  });

  test("harvester/harvester#9150: another party's budget is looked at before, and named", () => {
    const [app, web] = [plainPod("app"), launcher("web")];
    const { verdict, pods } = preflight(facts({ pods: [app, web], budgets: [foreignBudget("b", "app")] }));
    expect({ verdict, outcomes: pods.map(({ outcome }) => outcome) }).toEqual({
      verdict: "WillBlock",
      outcomes: ["Blocked", "Moves"],
    });
    expect(pods[0]?.message).toBe("PodDisruptionBudget b allows no disruption: it needs 1 healthy pods and has 1");
  });

  test("harvester/harvester#10705: what a check beforehand finds is one verdict, with each pod's reason, not the first error", () => {
    const pods = [launcher("web"), launcher("db"), plainPod("bare", { owners: [] })];
    const vmis = [vmiOf("web", PINNED), vmiOf("db", { evictionStrategy: "External" })];
    const answer = preflight(facts({ pods, vmis }));
    expect({ verdict: answer.verdict, counts: answer.counts }).toEqual({
      verdict: "WillBlock",
      counts: { Blocked: 3 },
    });
    expect(answer.pods.map(({ reason }) => reason)).toEqual(["NotMigratable", "External", "Unmanaged"]);
  });

  test("harvester/harvester#11606: every other node is tainted: nothing could move, however long the drain waits", () => {
    const otherNodes = ["node02", "node03"].map((name) =>
      node(name, { taints: [{ key: "test", effect: "NoSchedule" }] }),
    );
    expect(noRoom({ otherNodes })).toEqual({ verdict: "NoRoom", message: "no other node has room for it: Taints" });
  });
});

describe("a drain prints errors although all is well", () => {
  test("kubevirt/kubevirt#6782: the refusal of a VM that moves is told beforehand as what it is", () => {
    const { verdict, pods } = vm({});
    const eviction = { allowed: false, message: expect.stringContaining("Eviction triggered evacuation of VMI") };
    expect({ verdict, pods }).toMatchObject({
      verdict: "WillSucceed",
      pods: [{ outcome: "Moves", message: "is migrated to another node", eviction }],
    });
  });

  test("harvester/harvester#9150: nor is 'evacuation in progress' an error, while there is room for the VM", () => {
    const { verdict, pods } = vm({ evacuationNodeName: "node01" });
    const eviction = { allowed: false, message: expect.stringContaining("Evacuation in progress") };
    expect({ verdict, pods }).toMatchObject({ verdict: "WillSucceed", pods: [{ outcome: "Moves", eviction }] });
  });
});

describe("which VMs maintenance stops is known before, VM by VM", () => {
  test("harvester/harvester#5069: those that their owners let be stopped are named, the others move", () => {
    const pods = [launcher("web"), launcher("db")];
    const answer = preflight(facts({ pods, vmis: [vmiOf("web"), vmiOf("db", { evictionStrategy: "None" })] }));
    expect(answer.summary).toBe("draining node01 will succeed; VMs that move: 1, that are shut down: 1");
    expect(answer.pods.map(({ vmi, outcome }) => [vmi, outcome])).toEqual([
      ["web", "Moves"],
      ["db", "ShutsDown"],
    ]);
  });

  test("harvester/harvester#9114: a VM that is stopped needs no room elsewhere, so that it does not keep the drain from ending", () => {
    const full = [node("node02", { allocatable: { memory: GIB } })];
    const { verdict, pods } = vm({ evictionStrategy: "None" }, { otherNodes: full });
    expect({ verdict, room: pods[0]?.room }).toEqual({ verdict: "WillSucceedWithShutdowns", room: undefined });
  });
});

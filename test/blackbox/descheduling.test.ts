/**
 * Descheduling in background, as KEP-1397 wants it seen end to end: evictions through real admission, migrations that go on
 * after the answer, limits that hold meanwhile, requests that expire. Cycles are asked for by POST; each starts from nothing.
 */
import { afterEach, describe, expect, test } from "vitest";
import { pods, type Pod } from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import {
  createVms,
  cycle,
  cyclesUntil,
  everyVm,
  policyOf,
  setPolicy,
  startDeschedulingStage,
  taint,
} from "./descheduling-stage.ts";
import { NAMESPACE, type Stage, WEBHOOK_CONFIGURATIONS } from "./stage.ts";
import { evacuationsOf, getVmi, hasSettledAwayFrom, launcherOf, untilVmi } from "./vm.ts";

const REQUESTED = "lifeboat.dev/evacuation-requested";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const REQUEST_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";

let stage: Stage;
afterEach(() => stage.stop());

/** What runs of each VM, by the pods that run. */
function watchRunning(): { most: () => { pods: number; ofOneVm: number; vmsWithTwo: number }; stop: () => void } {
  const running = new Map<string, string>();
  const most = { pods: 0, ofOneVm: 0, vmsWithTwo: 0 };
  const stopped = new AbortController();
  const watching = (async () => {
    const launchers = { labelSelector: "kubevirt.io=virt-launcher" };
    for await (const { type, object } of stage.client.watch<Pod>(pods, launchers, stopped.signal)) {
      const isRunning = type !== "DELETED" && object.status?.phase === "Running";
      if (isRunning) running.set(object.metadata.uid, object.metadata.labels?.["kubevirt.io/created-by"] ?? "");
      else running.delete(object.metadata.uid);
      const byVm = [...Map.groupBy(running.values(), (vm) => vm).values()].map(({ length }) => length);
      most.pods = Math.max(most.pods, running.size);
      most.ofOneVm = Math.max(most.ofOneVm, ...byVm);
      most.vmsWithTwo = Math.max(most.vmsWithTwo, byVm.filter((count) => count > 1).length);
    }
  })();
  watching.catch(() => undefined);
  return { most: () => most, stop: () => stopped.abort() };
}

async function haveLeft(names: readonly string[]): Promise<boolean> {
  const vmis = await Promise.all(names.map((name) => getVmi(stage.client, name)));
  return vmis.every(({ status }) => status?.nodeName !== "node01");
}

describe("EvacuationInBackground", () => {
  test("evicted VMs migrate after the cycle; the next one knows, and asks for none of them again", async () => {
    stage = await startDeschedulingStage({ migrationSeconds: 1 });
    await createVms(stage, ["vm-1", "vm-2"]);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}));
    await taint(stage, "node01");
    const first = await cycle(stage);
    expect(first.results).toEqual({ Background: 2 });
    expect(first.evacuationsInProgress).toBe(2);
    expect(await evacuationsOf(stage.client, "vm-1")).toMatchObject([{ spec: { cause: "Descheduler" } }]);
    const { metadata } = await getVmi(stage.client, "vm-1");
    const launcher = await launcherOf(stage.client, "vm-1");
    expect(launcher.metadata.annotations).toHaveProperty([REQUEST_ONLY]);
    expect(launcher.metadata.annotations).toHaveProperty([REQUESTED]);
    const second = await cycle(stage);
    expect([second.results, second.evacuationsInProgress]).toEqual([{ InProgress: 2 }, 2]);
    await untilVmi(stage.client, "vm-1", "settled elsewhere", hasSettledAwayFrom("node01"));
    await untilVmi(stage.client, "vm-2", "settled elsewhere", hasSettledAwayFrom("node01"));
    expect((await getVmi(stage.client, "vm-1")).metadata.uid).toBe(metadata.uid);
    // What is still nominated there are the pods that they have left.
    const last = await cycle(stage);
    expect([last.evacuationsInProgress, last.results]).toEqual([0, { Evicted: 2 }]);
    expect((await cycle(stage)).nominated).toBe(0);
  });

  test("KubeVirt's own webhook says the same words, and is understood", async () => {
    stage = await startDeschedulingStage({ deschedulerAnnotations: true });
    await createVms(stage, ["vm-1"]);
    // As every VMI of a VirtualMachine does: KubeVirt's webhook fails to mark one without any for the descheduler.
    const body = { metadata: { annotations: { note: "kept" } } };
    const vm = { namespace: NAMESPACE, name: "vm-1" };
    await stage.client.patch(kubevirt.virtualMachineInstances, vm, { type: "merge", body });
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}));
    await taint(stage, "node01");
    // Lifeboat's own webhook is away: only KubeVirt's answers.
    await stage.client.delete(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
    expect((await cycle(stage)).results).toEqual({ Background: 1 });
    await untilVmi(stage.client, "vm-1", "on another node", ({ status }) => status?.nodeName !== "node01");
  });
});

describe("EvacuationLimitReached", () => {
  test("3 VMs, one at a time by the namespace's limit: never a fifth pod, never two VMs on the move", async () => {
    stage = await startDeschedulingStage({ migrationSeconds: 0.3 });
    await createVms(stage, ["vm-1", "vm-2", "vm-3"]);
    await setPolicy(stage, everyVm({ maxNoOfPodsToEvictPerNamespace: 1 }));
    await taint(stage, "node01");
    const running = watchRunning();
    const answers = await cyclesUntil(stage, "the last one needed", () => haveLeft(["vm-1", "vm-2", "vm-3"]));
    running.stop();
    expect(Math.max(...answers.map((answer) => answer.evacuationsInProgress))).toBe(1);
    expect(running.most()).toMatchObject({ ofOneVm: 2, vmsWithTwo: 1 });
    expect(running.most().pods).toBeLessThanOrEqual(4);
    expect(answers.some((answer) => (answer.results["evictionsPerNamespace"] ?? 0) > 0)).toBe(true);
  });

  test("1 of 2 VMs is requested, the other skipped, and still while the first is in progress", async () => {
    stage = await startDeschedulingStage({ migrationSeconds: 30 });
    await createVms(stage, ["vm-1", "vm-2"]);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, { maxNoOfPodsEvacuationsPerNode: 1 }));
    await taint(stage, "node01");
    const why = "evacuationsPerNode";
    const first = await cycle(stage);
    expect(first).toMatchObject({ results: { Background: 1, [why]: 1 }, skipped: [{ why }] });
    expect((await cycle(stage)).results).toEqual({ InProgress: 1, [why]: 1 });
  });

  test("two cycles at once: the limit holds, and no pod is requested twice", async () => {
    stage = await startDeschedulingStage({ migrationSeconds: 30 });
    const names = Array.from({ length: 6 }, (_, i) => `vm-${i}`);
    await createVms(stage, names);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, { maxNoOfPodsEvacuationsPerNode: 3 }));
    await taint(stage, "node01");
    const answers = await Promise.all(Array.from({ length: 4 }, () => cycle(stage)));
    const requested = answers.flatMap((answer) => answer.requested.map(({ pod }) => pod));
    expect(requested.length).toBe(new Set(requested).size);
    await cycle(stage);
    const { items } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
    expect(items.filter(({ status }) => status?.evacuationNodeName !== undefined).length).toBe(3);
  });
});

describe("EvacuationTTL", () => {
  const unconfirmed = {
    evacuationController: false,
    configuration: { reconcilers: { evacuation: false, annotations: "Disabled" } },
  };

  test("a request that nothing confirms counts until its TTL is over, and is made again after it", async () => {
    stage = await startDeschedulingStage(unconfirmed);
    await createVms(stage, ["vm-1", "vm-2"]);
    const limits = { maxNoOfPodsToEvictTotal: 1, maxEvacuationRequestTTL: "4s" };
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, limits));
    await taint(stage, "node01");
    const [first, second] = [await cycle(stage), await cycle(stage)];
    expect(first.results).toEqual({ Background: 1, evictionsTotal: 1 });
    expect(second.results).toEqual({ InProgress: 1, evictionsTotal: 1 });
    const [pod] = first.requested.map((r) => r.pod);
    const answers = await cyclesUntil(stage, "one that requests", ({ results }) => results["Background"] === 1);
    expect(answers.at(-1)?.requested.map((r) => r.pod)).toEqual([pod]);
  });

  test("a confirmed one does not expire", async () => {
    stage = await startDeschedulingStage({ migrationSeconds: 30 });
    await createVms(stage, ["vm-1"]);
    await setPolicy(stage, policyOf("RemovePodsViolatingNodeTaints", {}, { maxEvacuationRequestTTL: "1s" }));
    await taint(stage, "node01");
    expect((await cycle(stage)).results).toEqual({ Background: 1 });
    const key = (await launcherOf(stage.client, "vm-1")).metadata;
    await waitFor(stage.client, {
      resource: pods,
      key,
      what: "confirmed",
      until: ({ metadata }) => IN_PROGRESS in (metadata.annotations ?? {}),
    });
    const requestedAt = Date.now();
    const answers = await cyclesUntil(stage, "later than the TTL", () => Date.now() - requestedAt > 1500);
    expect(answers.map(({ results }) => results)).toEqual(answers.map(() => ({ InProgress: 1 })));
    const { metadata } = await launcherOf(stage.client, "vm-1");
    expect(metadata.annotations).not.toHaveProperty([REQUESTED]);
  });
});

/**
 * Tests the Evacuations and evictions that the descheduler requests: the fields, the answers, the recorded Events, and
 * the withdrawal of Evacuations that are older than the TTL.
 */
import { expect, test } from "vitest";
import type { EvacuationSpec, EvacuationStatus } from "../../../../shared/kube/evacuation.ts";
import { failing, once } from "../../../support/cluster.ts";
import { at, newborn } from "../../../support/fixtures.ts";
import { clusterOf, cycle, evacuationsOf, results } from "./cycles.ts";
import { requestedPod, plainPod, vmPod } from "../../../support/descheduling/worlds.ts";

// prettier-ignore
test.each([
  ["for a VM is an Evacuation",                                "vm",     ["create evacuations", "create events"]],
  ["for a VM that cannot move is an eviction",                 "pinned", ["create pods/eviction", "create events"]],
  ["for a VM whose pod KubeVirt does not list is an eviction", "odd",    ["create pods/eviction", "create events"]],
  ["for a VM that is being deleted is an eviction",            "dying",  ["create pods/eviction", "create events"]],
  ["for an ordinary pod is an eviction",                       "pod",    ["create pods/eviction", "create events"]],
])("a request %s", async (_, name, expected) => {
  const fake = clusterOf(...["vm", "pinned", "odd", "dying"].map((vm) => vmPod(vm)), plainPod("pod"));
  fake.change({ namespace: "apps", name: "pinned" }, { liveMigratable: { migratable: false } });
  fake.change({ namespace: "apps", name: "odd" }, { activePods: {} });
  fake.change({ namespace: "apps", name: "dying" }, { deleting: true });
  const { requests } = await cycle(fake, { order: [name] });
  expect(requests).toEqual(["create leases", ...expected, "patch leases"]);
});

test("a second request for a VM creates the Evacuation with the next number, and replaces no Evacuation of another function", async () => {
  const fake = clusterOf(vmPod("vm"));
  await cycle(fake, { order: ["vm"] });
  const [first] = evacuationsOf(fake, "pod-vm");
  if (first === undefined) throw new Error("no Evacuation");
  const ended = { ...first, status: { ...first.status, phase: "Withdrawn" } } as const;
  fake.evacuations.put(ended);
  expect(results(await cycle(fake, { order: ["vm"] }))).toEqual(["Background"]);
  expect(evacuationsOf(fake, "pod-vm").map(({ name }) => name.at(-1))).toEqual(["1", "2"]);
  const raced = clusterOf(vmPod("vm"));
  const before = once(/^create evacuations$/, () => raced.evacuations.put(ended));
  expect(results(await cycle(raced, { order: ["vm"], before }))).toEqual(["PodChanged"]);
});

const SAID = {
  Background: { code: 429, message: "Eviction triggered" },
  Refused: { code: 429, message: "no" },
  Evicted: { code: 201, message: "" },
  Gone: { code: 404, message: "" },
} as const;

// prettier-ignore
test.each<[outcome: keyof typeof SAID | "Unknown", inProgress: number, verdict: string, event: string | undefined]>([
  ["Background", 1, "Accepted", "Descheduled"],
  ["Refused",    0, "Skipped",  "EvictionFailed"],
  ["Evicted",    0, "Accepted", "Descheduled"],
  ["Gone",       0, "Skipped",  undefined],
  ["Unknown",    1, "Skipped",  "EvictionFailed"],
])("a pod answered %s counts %i times as in progress, is %s for the plugin, and gets the Event %s", async (outcome, inProgress, ...[verdict, event]) => {
  for (const notifyFailures of [true, false]) {
    const fake = clusterOf(requestedPod("pod"));
    if (outcome !== "Unknown") fake.evictionAnswers.set("pod", SAID[outcome]);
    const before = outcome === "Unknown" ? { before: failing(/^create pods\/eviction$/) } : {};
    const done = await cycle(fake, { order: ["pod"], policy: { notifyFailures }, ...before });
    expect([done.inProgress, done.heard]).toEqual([inProgress, [["pod", verdict]]]);
    const isTold = event !== undefined && (notifyFailures || event !== "EvictionFailed");
    const message = expect.stringContaining("vms/Scripted chose the pod on node node01 (told to)");
    const about = expect.objectContaining({ kind: "Pod", uid: "pod-pod" });
    expect(fake.recordedEvents).toEqual(isTold ? [expect.objectContaining({ reason: event, message, about })] : []);
  }
});

function waiting(name: string, spec: Partial<EvacuationSpec>, status: Partial<EvacuationStatus>, age: number) {
  const about = { cause: "Descheduler", requestedBy: "lifeboat-descheduling: vms/Scripted", ...spec } as const;
  const createdAt = at(-age).getTime();
  return newborn({
    name: `${name}-1`,
    createdAt,
    spec: { vmiName: name, pod: { uid: `pod-${name}` }, ...about },
    status,
  });
}

// prettier-ignore
test.each<[string, Partial<EvacuationSpec>, Partial<EvacuationStatus>, age: number, isWithdrawn: boolean]>([
  ["is pending, as old as the TTL",       {},                             { phase: "Pending" },                                  600, false],
  ["is pending, older than the TTL",      {},                             { phase: "Pending" },                                  601, true ],
  ["waits in KubeVirt's queue",           {},                             { phase: "Migrating", reason: "Queued" },              601, true ],
  ["waits while virt-controller is away", {},                             { phase: "Migrating", reason: "KubeVirtNotAnswering" }, 601, true ],
  ["migrates",                            {},                             { phase: "Migrating", reason: "Running" },             601, false],
  ["is another descheduler's",            { requestedBy: "descheduler" }, {},                                                    601, false],
  ["is a user's of the same name",        { cause: "ApiEviction" },       {},                                                    601, false],
])("an old Evacuation that %s is withdrawn: $4", async (_, spec, status, ...[age, isWithdrawn]) => {
  const fake = clusterOf(vmPod("vm"), vmPod("other"));
  fake.evacuations.put(waiting("vm", spec, status, age));
  const done = await cycle(fake, { order: ["vm", "other"], policy: { limits: { evictionsTotal: 1 } } });
  expect(done.withdrawn.map(({ name }) => name)).toEqual(isWithdrawn ? ["vm-1"] : []);
  expect(evacuationsOf(fake, "pod-vm")[0]?.spec.intent).toBe(isWithdrawn ? "Withdrawn" : "Evacuate");
  // A withdrawn Evacuation counts as in progress until it has ended.
  expect([results(done), done.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
});

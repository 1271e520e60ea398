/** A request in each form: what is written, what its answer means, what is recorded; and when a request expires. */
import { expect, test } from "vitest";
import type { EvacuationSpec, EvacuationStatus } from "../../../../shared/kube/evacuation.ts";
import { failing, once } from "../../../support/cluster.ts";
import { at, newborn } from "../../../support/fixtures.ts";
import { clusterOf, cycle, evacuationsOf, results } from "./cycles.ts";
import { requestedPod, plainPod, vmPod } from "../../../support/descheduling/worlds.ts";

// prettier-ignore
test.each([
  ["a VM",                                 "vm",     ["create evacuations", "create events"]],
  ["one that cannot move",                 "pinned", ["create pods/eviction", "create events"]],
  ["one whose pod KubeVirt does not list", "odd",    ["create pods/eviction", "create events"]],
  ["one that is being deleted",            "dying",  ["create pods/eviction", "create events"]],
  ["an ordinary pod",                      "pod",    ["create pods/eviction", "create events"]],
])("the form for %s", async (_, name, expected) => {
  const fake = clusterOf(...["vm", "pinned", "odd", "dying"].map((vm) => vmPod(vm)), plainPod("pod"));
  fake.change({ namespace: "apps", name: "pinned" }, { liveMigratable: { migratable: false } });
  fake.change({ namespace: "apps", name: "odd" }, { activePods: {} });
  fake.change({ namespace: "apps", name: "dying" }, { deleting: true });
  const { requests } = await cycle(fake, { order: [name] });
  expect(requests).toEqual(["create leases", ...expected, "patch leases"]);
});

test("a VM that was asked for before gets the next Evacuation; one of that name that another function made is left alone", async () => {
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
])("answered %s: %i in progress, %s for the plugin, and told as %s", async (outcome, inProgress, ...[verdict, event]) => {
  for (const notifyFailures of [true, false]) {
    const fake = clusterOf(requestedPod("pod"));
    if (outcome !== "Unknown") fake.evictionAnswers.set("pod", SAID[outcome]);
    const before = outcome === "Unknown" ? { before: failing(/^create pods\/eviction$/) } : {};
    const done = await cycle(fake, { order: ["pod"], policy: { notifyFailures }, ...before });
    expect([done.inProgress, done.heard]).toEqual([inProgress, [["pod", verdict]]]);
    const isTold = event !== undefined && (notifyFailures || event !== "EvictionFailed");
    const message = expect.stringContaining("nominated on node node01 by vms/Scripted (told to)");
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
  ["pending, as old as it may be", {},                             { phase: "Pending" },                                  600, false],
  ["pending, for longer",          {},                             { phase: "Pending" },                                  601, true ],
  ["in KubeVirt's queue",          {},                             { phase: "Migrating", reason: "Queued" },              601, true ],
  ["virt-controller is away",      {},                             { phase: "Migrating", reason: "KubeVirtNotAnswering" }, 601, true ],
  ["migrating",                    {},                             { phase: "Migrating", reason: "Running" },             601, false],
  ["another descheduler's",        { requestedBy: "descheduler" }, {},                                                    601, false],
  ["of a user of that name",       { cause: "ApiEviction" },       {},                                                    601, false],
])("an Evacuation that waits: %s: withdrawn, or not", async (_, spec, status, ...[age, isWithdrawn]) => {
  const fake = clusterOf(vmPod("vm"), vmPod("other"));
  fake.evacuations.put(waiting("vm", spec, status, age));
  const done = await cycle(fake, { order: ["vm", "other"], policy: { limits: { evictionsTotal: 1 } } });
  expect(done.withdrawn.map(({ name }) => name)).toEqual(isWithdrawn ? ["vm-1"] : []);
  expect(evacuationsOf(fake, "pod-vm")[0]?.spec.intent).toBe(isWithdrawn ? "Withdrawn" : "Evacuate");
  // It counts until it has ended.
  expect([results(done), done.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
});

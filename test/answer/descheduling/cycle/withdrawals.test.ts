/** Which of its own requests descheduling takes back. */
import { describe, expect, test } from "vitest";
import type { EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import type { EvacuationSpec, EvacuationStatus } from "../../../../shared/kube/evacuation.ts";
import { at, newborn } from "../../../support/fixtures.ts";
import { clusterOf, cycle, evacuationsOf, results } from "./cycles.ts";
import { vmPod } from "../../../support/descheduling/worlds.ts";

const OWN = { cause: "Descheduler", requestedBy: "lifeboat-descheduling: vms/Scripted" } as const;

function ownOf(name: string, spec: Partial<EvacuationSpec> = {}, status: Partial<EvacuationStatus> = {}, age = 60) {
  const createdAt = at(-age).getTime();
  const about = { ...OWN, vmiName: name, pod: { uid: `pod-${name}` }, ...spec };
  return newborn({ name: `${name}-1`, uid: `evacuation-${name}`, createdAt, spec: about, status });
}

const running = { phase: "Migrating", reason: "Running" } as const;

// prettier-ignore
test.each<[string, Partial<EvacuationSpec>, Partial<EvacuationStatus>, age: number, wanted: string | undefined, unwanted: string | undefined]>([
  ["not looked at yet",             {},                             {},                                          60,  undefined, "NotWanted"],
  ["pending",                       {},                             { phase: "Pending" },                        60,  undefined, "NotWanted"],
  ["in KubeVirt's queue",           {},                             { phase: "Migrating", reason: "Queued" },    60,  undefined, "NotWanted"],
  ["migrating",                     {},                             running,                                     60,  undefined, undefined  ],
  ["pending, as old as it may be",  {},                             { phase: "Pending" },                        600, undefined, "NotWanted"],
  ["pending, for longer",           {},                             { phase: "Pending" },                        601, "Expired", "NotWanted"],
  ["withdrawn already",             { intent: "Withdrawn" },        {},                                          601, undefined, undefined  ],
  ["another descheduler's",         { requestedBy: "descheduler" }, {},                                          601, undefined, undefined  ],
  ["of a user of that name",        { cause: "ApiEviction" },       {},                                          601, undefined, undefined  ],
])("%s: %4$s s old", async (_, spec, status, ...[age, wanted, unwanted]) => {
  for (const [order, why] of [[["vm"], wanted], [[], unwanted]] as const) {
    const fake = clusterOf(vmPod("vm"));
    fake.evacuations.put(ownOf("vm", spec, status, age));
    const done = await cycle(fake, { order });
    expect(done.withdrawn.map((one) => one.why)).toEqual(why === undefined ? [] : [why]);
    const [after] = evacuationsOf(fake, "pod-vm");
    expect(after?.spec.intent).toBe(why === undefined ? (spec.intent ?? "Evacuate") : "Withdrawn");
  }
});

// prettier-ignore
test.each([
  ["has a pod to migrate to",      [vmPod("vm"), vmPod("vm", { name: "target", uid: "pod-target", nodeName: "node02" })]],
  ["has left the pod",             [vmPod("vm", { phase: "Succeeded" })]],
  ["has left it, and it is gone",  []],
])("one that %s is left alone, though its status does not say so yet", async (_, pods) => {
  const fake = clusterOf(...pods.toReversed());
  fake.evacuations.put(ownOf("vm", {}, { phase: "Pending" }, 601));
  expect((await cycle(fake, { order: [] })).withdrawn).toEqual([]);
});

describe("one that is withdrawn", () => {
  test("counts until it has ended, and is not asked for again meanwhile", async () => {
    const fake = clusterOf(vmPod("vm"), vmPod("other"));
    fake.evacuations.put(ownOf("vm", {}, {}, 601));
    const done = await cycle(fake, { order: ["vm", "other"], policy: { limits: { evictionsTotal: 1 } } });
    expect([results(done), done.inProgress]).toEqual([["InProgress", "evictionsTotal"], 1]);
  });
});

test("nor does another pod that would take its place: what is asked for stays wanted as long as nothing else goes", async () => {
  const fake = clusterOf(vmPod("a"), vmPod("new"));
  fake.evacuations.put(ownOf("a"));
  const onlyOne: EnabledPlugin = {
    name: "OnlyOne",
    extensionPoint: "deschedule",
    *nominate() {
      for (const pod of [vmPod("new"), vmPod("a")]) if ((yield { pod }) === "Accepted") return;
    },
  };
  expect((await cycle(fake, { order: [], plugins: [onlyOne] })).withdrawn).toEqual([]);
});

test("gate off: nothing is withdrawn", async () => {
  const fake = clusterOf(vmPod("vm"));
  fake.evacuations.put(ownOf("vm", {}, {}, 601));
  expect((await cycle(fake, { order: [], inBackground: false })).withdrawn).toEqual([]);
});

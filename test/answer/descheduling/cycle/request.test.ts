/**
 * A request in both of its forms: what is written before it is made, what stays, what is taken back, what is told.
 */
import { describe, expect, test } from "vitest";
import { failing, once } from "../../../support/fake-cluster.ts";
import { time } from "../../../support/fixtures.ts";
import { annotationsOf, clusterOf, cycle, evacuationsOf, nth, results } from "./cycles.ts";
import { askedPod, plainPod, REQUESTED, vmPod } from "../../../support/descheduling/worlds.ts";

// prettier-ignore
test.each([
  ["a VM",                               "vm",    true,  ["create evacuations", "create events"]],
  ["one that cannot move",               "pinned", true, ["patch pods", "create pods/eviction", "create events"]],
  ["a pod that is to be asked only",     "asked", true,  ["patch pods", "create pods/eviction", "create events"]],
  ["an ordinary pod",                    "pod",   true,  ["create pods/eviction", "create events"]],
  ["a VM, gate off",                     "vm",    false, ["create pods/eviction"]],
])("the form for %s", async (_, name, inBackground, expected) => {
  const fake = clusterOf(...["vm", "pinned", "odd", "dying"].map((vm) => vmPod(vm)), askedPod("asked"), plainPod("pod"));
  fake.change({ namespace: "apps", name: "pinned" }, { liveMigratable: { migratable: false } });
  fake.change({ namespace: "apps", name: "odd" }, { activePods: {} });
  fake.change({ namespace: "apps", name: "dying" }, { deleting: true });
  const { requests } = await cycle(fake, { order: [name], inBackground });
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

test("of one that is to be asked only, the time is on the pod before the request, and stays", async () => {
  const fake = clusterOf(askedPod("asked"));
  const seen: unknown[] = [];
  const before = once(/^create pods\/eviction$/, () => void seen.push(annotationsOf(fake, "pod-asked")[REQUESTED]));
  await cycle(fake, { order: ["asked"], before });
  expect([...seen, annotationsOf(fake, "pod-asked")[REQUESTED]]).toEqual([time(0), time(0)]);
});

const SAID = {
  Background: [429, "Eviction triggered"],
  Refused: [429, "no"],
  Evicted: [201, ""],
  Gone: [404, ""],
} as const;

// prettier-ignore
describe.each([
  // Outcome of the eviction, time kept on the pod, counted as in progress, verdict for the plugin, told as an Event; also if failures are.
  ["Background", true,  1, "Accepted", ["Descheduled"], ["Descheduled"]   ],
  ["Refused",    false, 0, "Skipped",  [],              ["EvictionFailed"]],
  ["Evicted",    true,  0, "Accepted", ["Descheduled"], ["Descheduled"]   ],
  ["Gone",       true,  0, "Skipped",  [],              []                ],
  ["Unknown",    true,  1, "Skipped",  [],              ["EvictionFailed"]],
] as const)("answered %s", (outcome, kept, inProgress, ...[verdict, ...told]) => {
  test.each([false, true])("failures told=%s", async (notifyFailures) => {
    const fake = clusterOf(askedPod("asked"));
    if (outcome !== "Unknown") fake.evictionAnswers.set("asked", { code: SAID[outcome][0], message: SAID[outcome][1] });
    const before = outcome === "Unknown" ? { before: failing(/^create pods\/eviction$/) } : {};
    const done = await cycle(fake, { order: ["asked"], policy: { notifyFailures }, ...before });
    expect(REQUESTED in annotationsOf(fake, "pod-asked")).toBe(kept);
    expect([done.inProgress, done.heard]).toEqual([inProgress, [["asked", verdict]]]);
    expect(fake.story.map(({ reason }) => reason)).toEqual(told[notifyFailures ? 1 : 0]);
    for (const { about, message } of fake.story) {
      expect(about).toMatchObject({ kind: "Pod", uid: "pod-asked" });
      expect(message).toContain("nominated on node node01 by vms/Scripted (told to)");
    }
  });
});

test("refused, and its time cannot be taken back: it counts", async () => {
  const fake = clusterOf(askedPod("asked"));
  fake.evictionAnswers.set("asked", { code: 429, message: "no" });
  const done = await cycle(fake, { order: ["asked"], before: nth(2, /^patch pods$/, failing(/./)) });
  expect([results(done), done.inProgress]).toEqual([["Refused"], 1]);
  expect(annotationsOf(fake, "pod-asked")).toHaveProperty([REQUESTED]);
});

test("a pod that has changed since is skipped", async () => {
  const fake = clusterOf(askedPod("asked"), askedPod("other"));
  const before = once(/^patch pods$/, () => fake.pods.put(askedPod("asked", { uid: "another" })));
  expect(results(await cycle(fake, { order: ["asked", "other"], before }))).toEqual(["PodChanged", "Background"]);
  expect(fake.evictions).toEqual(["other"]);
});

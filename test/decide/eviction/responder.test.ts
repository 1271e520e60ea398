/** What an Eviction of `lifecycle.k8s.io` asks of Lifeboat, and what Lifeboat reports. */
import { describe, expect, test } from "vitest";
import { type Answer, answerTo, isAsked, reportOn, withdrawnBy } from "../../../shared/eviction/responder.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { EvictionFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { at, evacuation, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

const START = at(-600).toISOString();
const { name, uid } = pod();

function eviction(tweak: Partial<EvictionFacts> = {}): EvictionFacts {
  const own = { pod: { name, uid }, requesters: ["acme.io/drainer"], state: "Active", at: 0 };
  return { namespace: "apps", name: "pod-1-web", uid: "e", ...own, report: { startTime: START }, ...tweak };
}

// prettier-ignore
test.each<[string, Partial<EvictionFacts>, boolean]>([
  ["active",                { },                                                              true ],
  ["not yet",               { state: "Inactive" },                                            false],
  ["without a place",       { at: -1, report: undefined },                                    false],
  ["reported as completed", { report: { startTime: START, completionTime: at(0).toISOString() } }, false],
])("Lifeboat, %s, is asked: %o %s", (_, tweak, expected) => {
  expect(isAsked(eviction(tweak))).toBe(expected);
});

const ofPod = (status: EvacuationFacts["status"], tweak: Partial<EvacuationFacts> = {}) =>
  evacuation({ status: { ...status, podUID: uid }, ...tweak });
const ended = (phase: "Moved" | "Abandoned" | "Duplicate", seconds: number) =>
  ofPod({ phase, attempts: 0, conditions: [], completionTime: at(seconds).toISOString() });
const active = ofPod({ phase: "Migrating", message: "on its way", attempts: 0, conditions: [] });

describe("the answer", () => {
  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], VmiFacts | undefined, [message: string, isCompleted: boolean]]>([
    ["to the first look is an Evacuation",               [],                         vmi(),                              ["create",                                   false]],
    ["waits for one in progress, whatever its cause",    [active],                   vmi(),                              ["Migrating: on its way",                    false]],
    ["is completed when the VM has moved",               [ended("Moved", -10)],      vmi(),                              ["Moved",                                    true]],
    ["leaves out what ended before the request",         [ended("Abandoned", -900)], vmi(),                              ["create",                                   false]],
    ["leaves out a duplicate",                           [ended("Duplicate", -10)],  vmi(),                              ["create",                                   false]],
    ["is completed without a VM",                        [],                         undefined,                          ["no running VM is in this pod",             true]],
    ["is completed for a pod that no guest is in",       [],                         vmi({ activePods: { other: "node01" } }), ["no running VM is in this pod",       true]],
    ["is completed where the strategy lets the VM stop", [],                         vmi({ evictionStrategy: "None" }),  ["eviction strategy None",                   true]],
  ])("%s", (_, evacuations, of, [message, isCompleted]) => {
    const answer = answerTo({ eviction: eviction(), vmi: of, evacuations, settings: settings(), now: NOW });
    expect(answer.isCompleted).toBe(isCompleted);
    expect(answer.create === undefined ? answer.message : "create").toContain(message);
  });

  test("creates it for the requesters, of that pod", () => {
    const { create } = answerTo({ eviction: eviction(), vmi: vmi(), evacuations: [], settings: settings(), now: NOW });
    const asked = { cause: "EvictionRequest", requestedBy: "acme.io/drainer", intent: "Evacuate", pod: { name, uid } };
    expect(create?.spec).toMatchObject(asked);
  });
});

describe("the report", () => {
  const going: Answer = { message: "same", isCompleted: false };
  // prettier-ignore
  test.each<[string, [heartbeat: number | undefined, message: string], Answer, boolean]>([
    ["waits three minutes with nothing new",       [-170,      "same"],  going,                                    false],
    ["is written after three minutes",             [-180,      "same"],  going,                                    true ],
    ["is written sooner with something new",       [-60,       "other"], going,                                    true ],
    ["is never written twice in 20 seconds",       [-10,       "other"], going,                                    false],
    ["of an end is written at once",               [-10,       "same"],  { message: "moved", isCompleted: true },  true ],
  ])("%s", (_, [heartbeat, message], answer, isWritten) => {
    const heartbeatTime = heartbeat === undefined ? undefined : at(heartbeat).toISOString();
    const written = reportOn(eviction({ report: { startTime: START, heartbeatTime, message } }), answer, NOW);
    expect(written !== undefined).toBe(isWritten);
  });
});

describe("an Evacuation of an EvictionRequest", () => {
  const ours = ofPod(
    { phase: "Pending", attempts: 0, conditions: [] },
    { spec: { ...active.spec, cause: "EvictionRequest" } },
  );
  // prettier-ignore
  test.each<[string, readonly EvictionFacts[], readonly EvacuationFacts[], number]>([
    ["continues while it is asked for",             [eviction()],                                                  [ours],   0],
    ["is withdrawn when it is cancelled",           [eviction({ state: "Canceled" })],                             [ours],   1],
    ["… not while another Eviction asks",           [eviction({ state: "Canceled" }), eviction({ name: "pod-2" })], [ours],  0],
    ["is withdrawn when its requests are gone",     [],                                                            [ours],   1],
    ["continues when Lifeboat was away too long",   [eviction({ state: "Interrupted" })],                          [ours],   0],
    ["continues to its end when that is reported",  [eviction({ state: "Completed" })],                            [ours],   0],
    ["is withdrawn when a later one is cancelled",  [eviction({ state: "Completed" }), eviction({ name: "pod-2", state: "Canceled" })], [ours], 1],
    ["of another cause is not theirs to withdraw",  [eviction({ state: "Canceled" })],                             [active], 0],
  ])("%s", (_, evictions, evacuations, count) => {
    expect(withdrawnBy(evictions, evacuations)).toHaveLength(count);
  });
});

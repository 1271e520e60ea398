/** Lifeboat answers without any facts: no VM dies because Lifeboat knows nothing, and no drain waits for ever. */
import { expect, test } from "vitest";
import { undecidedMessage, saysUndecided, whenEvictionIsUndecided } from "../../shared/settings/failure-posture.ts";
import type { PodFacts } from "../../shared/kube/facts.ts";
import { hotplug, pod } from "../support/fixtures.ts";

// prettier-ignore
test.each<[string, PodFacts | "Odd" | undefined, forAMoment: string, forGood: string]>([
  ["a launcher pod",                        pod(),                         "refuse", "fail"],
  ["… that terminates",                     pod({ deleting: true }),       "refuse", "fail"],
  ["a hotplug pod",                         hotplug(),                     "refuse", "fail"],
  ["a launcher pod that has completed",     pod({ phase: "Succeeded" }),   "allow",  "allow"],
  ["a pod that is none of KubeVirt's",      pod({ labels: {} }),           "allow",  "allow"],
  ["an odd pod",                            "Odd",                         "refuse", "refuse"],
  ["a pod that could not be read",          undefined,                     "fail",   "fail"],
])("%s: %s, for good %s", (_, subject, forAMoment, forGood) => {
  expect(whenEvictionIsUndecided(subject, false)).toBe(forAMoment);
  expect(whenEvictionIsUndecided(subject, true)).toBe(forGood);
});

test("the refusal is known again by its words", () => {
  expect(saysUndecided(undecidedMessage("eviction", "pod apps/web", "timeout"))).toBe(true);
  expect(saysUndecided("Eviction triggered evacuation")).toBe(false);
});

/**
 * Tests Lifeboat's answers if Lifeboat cannot read the facts. The answers shut down no guest, and let no drain wait
 * forever.
 */
import { expect, test } from "vitest";
import { undecidedMessage, saysUndecided, whenEvictionIsUndecided } from "../../shared/settings/failure-posture.ts";
import type { PodFacts } from "../../shared/kube/facts.ts";
import { hotplug, pod } from "../support/fixtures.ts";

// prettier-ignore
test.each<[string, PodFacts | "Odd" | undefined, forAMoment: string, forGood: string]>([
  ["a launcher pod",                        pod(),                         "refuse", "fail"],
  ["a launcher pod that terminates",        pod({ deleting: true }),       "refuse", "fail"],
  ["a hotplug pod",                         hotplug(),                     "refuse", "fail"],
  ["a launcher pod that has completed",     pod({ phase: "Succeeded" }),   "allow",  "allow"],
  ["a pod that is not KubeVirt's",          pod({ labels: {} }),           "allow",  "allow"],
  ["a malformed pod",                       "Odd",                         "refuse", "refuse"],
  ["a pod that could not be read",          undefined,                     "fail",   "fail"],
])("without facts, the eviction of %s: $2 for a moment, $3 permanently", (_, subject, forAMoment, forGood) => {
  expect(whenEvictionIsUndecided(subject, false)).toBe(forAMoment);
  expect(whenEvictionIsUndecided(subject, true)).toBe(forGood);
});

test("the refusal is recognised by its message", () => {
  expect(saysUndecided(undecidedMessage("eviction", "pod apps/web", "timeout"))).toBe(true);
  expect(saysUndecided("Eviction triggered evacuation")).toBe(false);
});

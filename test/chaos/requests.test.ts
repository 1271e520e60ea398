/** Descheduling moves so many VMs of a node at a time, and no more. */
import { expect, test } from "vitest";
import { createRequestCheck } from "../../infra/chaos/requests.ts";
import type { Pod } from "../../infra/sandbox/actors/resources.ts";
import { launcher, vmi } from "./objects.ts";

const REQUESTED = { "lifeboat.dev/evacuation-requested": "2026-01-01T00:00:00Z" };
const IN_PROGRESS = { "descheduler.alpha.kubernetes.io/eviction-in-progress": "true" };

const podOf = (name: string, annotations = {}, status = {}): Pod =>
  launcher(vmi({ name, status: { nodeName: "node-1", ...status } }), annotations);

type Changes = readonly (readonly [Pod | undefined, Pod | undefined])[];

function seen(...changes: Changes): { readonly breaches: readonly string[]; readonly asked: readonly string[] } {
  const breaches: string[] = [];
  const report = (what: string) => void breaches.push(what);
  const check = createRequestCheck({ node: "node-1", allowed: 1, report });
  for (const [now, before] of changes) check.podChanged(now, before);
  return { breaches, asked: [...check.asked] };
}

const breachesOf = (...changes: Changes) => seen(...changes).breaches;

const first = podOf("a", REQUESTED);

test("one asked for and one under way are one too many", () => {
  expect(breachesOf([first, undefined], [podOf("b", IN_PROGRESS), undefined])).toEqual([
    "2 pods of node-1 are being descheduled, 1 allowed: run-1/virt-launcher-a-abcde, run-1/virt-launcher-b-abcde",
  ]);
});

const ended: Pod = { ...first, status: { phase: "Succeeded" } };
const refused = podOf("a");

// prettier-ignore
const rows: readonly (readonly [string, Pod | undefined, Pod])[] = [
  ["the first one has ended",        ended,                                             podOf("b", REQUESTED)],
  ["the first one was refused",      refused,                                           podOf("b", REQUESTED)],
  ["the first one is gone",          undefined,                                         podOf("b", REQUESTED)],
  ["the second one is elsewhere",    first,                                             podOf("b", REQUESTED, { nodeName: "node-2" })],
  ["the second one is not asked",    first,                                             podOf("b")],
];
test.each(rows)("%s: within the limit", (_, now, second) => {
  expect(breachesOf([first, undefined], [now, first], [second, undefined])).toEqual([]);
});

// prettier-ignore
const askedFor: readonly (readonly [string, Changes, readonly string[]])[] = [
  ["one that is asked for",                 [[first, undefined]],                                             ["uid-virt-launcher-a-abcde"]],
  ["one whose request was refused",         [[first, undefined], [refused, first]],                           ["uid-virt-launcher-a-abcde"]],
  ["one that is gone",                      [[first, undefined], [undefined, first]],                         ["uid-virt-launcher-a-abcde"]],
  ["one that leaves for another reason",    [[podOf("a", IN_PROGRESS), undefined]],                           []],
  ["one of another node",                   [[podOf("a", REQUESTED, { nodeName: "node-2" }), undefined]],     []],
];
test.each(askedFor)("ever asked for: %s", (_, changes, uids) => {
  expect(seen(...changes).asked).toEqual(uids);
});

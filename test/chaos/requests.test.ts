/** Descheduling moves so many VMs of a node at a time, and no more; what it has asked for. */
import { expect, test } from "vitest";
import { createRequestCheck } from "../../infra/chaos/requests.ts";
import type { Pod } from "../../infra/sandbox/actors/resources.ts";
import { launcher, vmi } from "./objects.ts";

const IN_PROGRESS = { "descheduler.alpha.kubernetes.io/eviction-in-progress": "true" };

const podOf = (name: string, annotations = {}, status = {}): Pod =>
  launcher(vmi({ name, status: { nodeName: "node-1", ...status } }), annotations);

type Changes = readonly (readonly [Pod | undefined, Pod | undefined])[];

function breachesOf(...changes: Changes): readonly string[] {
  const breaches: string[] = [];
  const report = (what: string) => void breaches.push(what);
  const check = createRequestCheck({ node: "node-1", allowed: 1, report });
  for (const [now, before] of changes) check.podChanged(now, before);
  return breaches;
}

const first = podOf("a", IN_PROGRESS);

test("two at a time are one too many", () => {
  expect(breachesOf([first, undefined], [podOf("b", IN_PROGRESS), undefined])).toEqual([
    "2 pods of node-1 are being descheduled, 1 allowed: run-1/virt-launcher-a-abcde, run-1/virt-launcher-b-abcde",
  ]);
});

const ended: Pod = { ...first, status: { phase: "Succeeded" } };
const stays = podOf("a");

// prettier-ignore
const rows: readonly (readonly [string, Pod | undefined, Pod])[] = [
  ["the first one has ended",        ended,                                             podOf("b", IN_PROGRESS)],
  ["the first one stays",            stays,                                             podOf("b", IN_PROGRESS)],
  ["the first one is gone",          undefined,                                         podOf("b", IN_PROGRESS)],
  ["the second one is elsewhere",    first,                                             podOf("b", IN_PROGRESS, { nodeName: "node-2" })],
  ["the second one does not leave",  first,                                             podOf("b")],
];
test.each(rows)("%s: within the limit", (_, now, second) => {
  expect(breachesOf([first, undefined], [now, first], [second, undefined])).toEqual([]);
});

// prettier-ignore
test.each<[string, string, readonly string[]]>([
  ["by descheduling",         "Descheduler",  ["e"]],
  ["for another reason",      "Operator",     []],
])("asked for %s", (_, cause, uids) => {
  const check = createRequestCheck({ node: "node-1", allowed: 1, report: () => {} });
  const metadata = { ...first.metadata, uid: "e" };
  const asked = { metadata, spec: { virtualMachineInstance: { name: "a" }, cause } };
  check.evacuationChanged(asked, undefined);
  check.evacuationChanged(undefined, asked);
  expect([...check.asked]).toEqual(uids);
});

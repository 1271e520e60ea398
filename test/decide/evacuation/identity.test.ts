/**
 * Tests the name and the pod of an Evacuation. If a pod has two Evacuations, only one of them continues. A later
 * Evacuation inherits the attempts and the back-off.
 */
import { describe, expect, test } from "vitest";
import {
  activeEvacuation,
  backingOffEvacuation,
  guestPodUID,
  isAbout,
  newEvacuation,
  ofVmi,
  sourceNodeOf,
} from "../../../shared/evacuation/identity.ts";
import { secondsUntil } from "../../../shared/settings/time.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  newborn,
  NOW,
  POD_NAME,
  POD_UID,
  time,
  vmi,
  without,
} from "../../support/fixtures.ts";
import { hash8 } from "../../../shared/kube/objects.ts";

const byHand = { ...newborn({ name: "by-hand", uid: "by-hand" }), spec: without(newborn().spec, "pod") };
const elsewhere = vmi({ nodeName: "node02", activePods: { [POD_UID]: "node01", other: "node02" } });

describe("the pod that the guest runs in", () => {
  // prettier-ignore
  test.each([
    ["is known beside the target of a migration",   vmi({ activePods: { [POD_UID]: "node01", other: "node02" } }), POD_UID],
    ["is unknown with two pods on the VM's node",   vmi({ activePods: { [POD_UID]: "node01", other: "node01" } }),     undefined],
  ])("%s", (_, subject, expected) => expect(guestPodUID(subject)).toBe(expected));
});

describe("an Evacuation and a VMI belong together", () => {
  const noPod = { ...evacuation(), spec: byHand.spec, status: without(evacuation().status, "podUID") };
  // prettier-ignore
  test.each<[string, EvacuationFacts, VmiFacts, boolean]>([
    ["unless the VMI is a recreated one of the same name",                          evacuation(), vmi({ uid: "made-anew" }),              false],
    ["unless the guest has left the Evacuation's pod",                              newborn(),    elsewhere,                              false],
    ["unless the guest has left the Evacuation's pod and returned to its node",     evacuation(), vmi({ activePods: { other: "node01" } }),   false],
    ["by their node if KubeVirt lists no pods",                                     evacuation(), vmi({ activePods: {} }),                true],
    ["if the Evacuation names no pod and has no status yet",                        byHand,       elsewhere,                              true],
    ["unless the Evacuation names no pod and the VM is on another node",            noPod,        elsewhere,                              false],
    ["unless the Evacuation names another VMI",                                     evacuation({ spec: { vmiName: "db" } }), vmi(),       false],
  ])("%s", (_, subject, of, expected) => expect(isAbout(subject, of)).toBe(expected));
});

// prettier-ignore
test.each<[string, EvacuationFacts, boolean]>([
  ["that names it",                           evacuation(),                              true],
  ["of the same VMI name in another namespace", evacuation({ namespace: "other" }),      false],
  ["of another VMI name in its namespace",    evacuation({ spec: { vmiName: "db" } }),   false],
])("a VMI has an Evacuation %s: $2", (_, e, expected) => expect(ofVmi([e], vmi())).toEqual(expected ? [e] : []));

// prettier-ignore
test.each<[string, EvacuationFacts, VmiFacts, node: string | undefined]>([
  ["is the pod's",                                 newborn(),  elsewhere,                               "node01"],
  ["is the VMI's if KubeVirt lists no pods",       newborn(),  vmi({ activePods: {} }),                 "node01"],
  ["is the VMI's if the Evacuation names no pod",  byHand,     elsewhere,                               "node02"],
  ["is unknown if KubeVirt lists other pods only", newborn(),  vmi({ activePods: { other: "node01" } }), undefined],
])("the node of an Evacuation %s", (_, e, of, expected) => expect(sourceNodeOf(e, of)).toBe(expected));

describe("among several Evacuations of one pod", () => {
  const first = newborn({ name: "b", uid: "1", createdAt: 1 });
  const second = newborn({ name: "a", uid: "2", createdAt: 2 });
  // prettier-ignore
  test.each([
    ["created in the same second, the first by name is active",           [{ ...first, createdAt: 2 }, second],                                "a"],
    ["created in the same second, the order of the list does not matter", [second, { ...first, createdAt: 2 }],                                "a"],
  ])("%s", (_, evacuations, expected) => expect(activeEvacuation(vmi(), evacuations)?.name).toBe(expected));
});

function rested(seconds: number, tweak: Partial<EvacuationFacts> = {}): EvacuationFacts {
  return endedEvacuation("Abandoned", { status: { nextAttemptTime: time(seconds) }, ...tweak });
}

describe("the back-off after an evacuation that ended without a move", () => {
  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], name: string | undefined]>([
    ["lasts",                                     [rested(1, { name: "it" })],                        "it"],
    ["continues",                                 [rested(0)],                                        undefined],
    ["has ended",                                 [evacuation({ status: { nextAttemptTime: time(9) } })], undefined],
    ["belongs to an active Evacuation itself",    [rested(9, { name: "new" }), rested(99, { name: "old", createdAt: 0 })], "new"],
  ])("is the newest ended Evacuation's", (_, evacuations, expected) => {
    expect(backingOffEvacuation(vmi(), evacuations, { now: NOW })?.name).toBe(expected);
  });

  test.each([
    [time(9), 9],
    [time(-9), 0],
    ["soon", 0],
  ])("until %s lasts %d s", (until, expected) => expect(secondsUntil(until, NOW)).toBe(expected));
});

const beginning = { cause: "ApiEviction", requestedBy: "admin" } as const;

function started(subject: VmiFacts, evacuations: readonly EvacuationFacts[] = []) {
  return newEvacuation(subject, beginning, { evacuations, now: NOW });
}

function called(name: string): EvacuationFacts {
  return endedEvacuation("Withdrawn", { name });
}

function givenUpAfter(attempts: number): EvacuationFacts {
  return endedEvacuation("Abandoned", { status: { attempts, nextAttemptTime: time(99) } });
}

describe("a new Evacuation", () => {
  const hash = hash8(POD_UID);

  test("names its requester, cause and pod", () => {
    expect(started(vmi())).toEqual({
      namespace: "apps",
      name: `web-${hash}-1`,
      spec: { vmiName: "web", ...beginning, intent: "Evacuate", pod: { uid: POD_UID } },
    });
    const more = { ...beginning, pod: { name: POD_NAME, uid: "other" }, deadline: time(120) };
    const { name, spec } = newEvacuation(vmi(), more, { evacuations: [], now: NOW });
    expect(name).toBe(`web-${hash8("other")}-1`);
    expect(spec).toMatchObject({ pod: { name: POD_NAME, uid: "other" }, deadline: time(120) });
  });

  // prettier-ignore
  test.each([
    ["by the highest number, even if others were deleted",     [called(`web-${hash}-9`)],                           `web-${hash}-10`],
    ["by a number of several digits",                          [called(`web-${hash}-10`)],                          `web-${hash}-11`],
    ["ignoring names that a person chose",                     [called("web-7"), called(`x-web-${hash}-7`), called(`web-${hash}-x`), called(`web-${hash}-07`)], `web-${hash}-1`],
  ])("is numbered: %s", (_, before, expected) => expect(started(vmi(), before).name).toBe(expected));

  test("is numbered after an earlier one if the VM's name looks like a number, too", () => {
    const before = endedEvacuation("Moved", { name: `web-7-${hash}-2`, spec: { vmiName: "web-7" } });
    expect(started(vmi({ name: "web-7" }), [before]).name).toBe(`web-7-${hash}-3`);
  });

  test("is named by VMI and node if KubeVirt lists no pods", () => {
    const { name, spec } = started(vmi({ activePods: {} }));
    expect(name).toBe(`web-${hash8("vmi-uid/node01")}-1`);
    expect(spec.pod).toBeUndefined();
  });

  test("has eight hexadecimal digits in its name, even if the first digit is 0", () => {
    expect(started(vmi({ activePods: { "uid-200": "node01" } })).name).toBe("web-09216686-1");
  });

  test("has a name of at most 63 characters that does not end in a dot or dash, and is still numbered", () => {
    const long = vmi({ name: `${"a".repeat(50)}.-${"b".repeat(200)}` });
    const ninth = endedEvacuation("Moved", { name: `${"a".repeat(50)}-${hash}-9`, spec: { vmiName: long.name } });
    expect(started(long).name).toBe(`${"a".repeat(50)}-${hash}-1`);
    expect(started(long, [ninth]).name).toBe(`${"a".repeat(50)}-${hash}-10`);
    expect(started(vmi({ name: "b".repeat(200) })).name).toHaveLength(63);
  });

  test("inherits attempts and back-off of an ended one in back-off, and nothing otherwise", () => {
    expect(started(vmi(), [givenUpAfter(5)]).spec.inherited).toEqual({ attempts: 5, notBefore: time(99) });
    // The number of attempts stays within the API's limit.
    expect(started(vmi(), [givenUpAfter(1003)]).spec.inherited?.attempts).toBe(1000);
    const over = { evacuations: [givenUpAfter(5)], now: at(99) };
    expect(newEvacuation(vmi(), beginning, over).spec.inherited).toBeUndefined();
    expect(started(elsewhere, [givenUpAfter(5)]).spec.inherited).toBeUndefined();
    // A person's request starts an attempt immediately.
    const before = { evacuations: [givenUpAfter(5)], now: NOW };
    expect(newEvacuation(vmi(), { cause: "Operator", requestedBy: "jane" }, before).spec.inherited).toBeUndefined();
  });
});

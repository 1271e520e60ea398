/** An Evacuation names its pod and has a name. If a pod has two Evacuations, one continues. The next Evacuation inherits facts. */
import { describe, expect, test } from "vitest";
import {
  activeEvacuation,
  backingOffEvacuation,
  guestPodUID,
  isAbout,
  newEvacuation,
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
    ["beside the target of a migration",   vmi({ activePods: { [POD_UID]: "node01", other: "node02" } }), POD_UID],
    ["two on its node",                    vmi({ activePods: { [POD_UID]: "node01", other: "node01" } }),     undefined],
  ])("%s", (_, subject, expected) => expect(guestPodUID(subject)).toBe(expected));
});

describe("an Evacuation is about the VMI's pod", () => {
  const noPod = { ...evacuation(), spec: byHand.spec, status: without(evacuation().status, "podUID") };
  // prettier-ignore
  test.each<[string, EvacuationFacts, VmiFacts, boolean]>([
    ["… of an earlier VMI of that name",             evacuation(), vmi({ uid: "made-anew" }),              false],
    ["… which the guest has left",                   newborn(),    elsewhere,                              false],
    ["… which the guest left, and came back",        evacuation(), vmi({ activePods: { other: "node01" } }),   false],
    ["… and KubeVirt lists none: by its node",       evacuation(), vmi({ activePods: {} }),                true],
    ["none, not looked at yet: whichever it is",     byHand,       elsewhere,                              true],
    ["none, looked at, on another node",             noPod,        elsewhere,                              false],
  ])("%s", (_, subject, of, expected) => expect(isAbout(subject, of)).toBe(expected));
});

describe("of several about one pod", () => {
  const first = newborn({ name: "b", uid: "1", createdAt: 1 });
  const second = newborn({ name: "a", uid: "2", createdAt: 2 });
  // prettier-ignore
  test.each([
    ["of the same second: by name",           [{ ...first, createdAt: 2 }, second],                                "a"],
  ])("%s", (_, evacuations, expected) => expect(activeEvacuation(vmi(), evacuations)?.name).toBe(expected));
});

function rested(seconds: number, tweak: Partial<EvacuationFacts> = {}): EvacuationFacts {
  return endedEvacuation("Abandoned", { status: { nextAttemptTime: time(seconds) }, ...tweak });
}

describe("the rest of an evacuation that ended without a move", () => {
  // prettier-ignore
  test.each<[string, readonly EvacuationFacts[], name: string | undefined]>([
    ["lasts",                                 [rested(1, { name: "it" })],                        "it"],
    ["is over",                               [rested(0)],                                        undefined],
    ["is one of its own while it goes on",    [evacuation({ status: { nextAttemptTime: time(9) } })], undefined],
    ["of several: the newest one's",          [rested(9, { name: "new" }), rested(99, { name: "old", createdAt: 0 })], "new"],
  ])("%s", (_, evacuations, expected) => {
    expect(backingOffEvacuation(vmi(), evacuations, { now: NOW })?.name).toBe(expected);
  });

  test.each([
    [time(9), 9],
    [time(-9), 0],
    ["soon", 0],
  ])("until %s: %d s", (until, expected) => expect(secondsUntil(until, NOW)).toBe(expected));
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

describe("a new one", () => {
  const hash = hash8(POD_UID);

  test("says who asks, why, and which pod", () => {
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
    ["… whatever is removed in between",     [called(`web-${hash}-9`)],                           `web-${hash}-10`],
    ["names of people do not count",         [called("web-7"), called(`x-web-${hash}-7`), called(`web-${hash}-x`), called(`web-${hash}-07`)], `web-${hash}-1`],
  ])("its name counts up: %s", (_, before, expected) => expect(started(vmi(), before).name).toBe(expected));

  test("… where KubeVirt lists no pod, by VMI and node", () => {
    const { name, spec } = started(vmi({ activePods: {} }));
    expect(name).toBe(`web-${hash8("vmi-uid/node01")}-1`);
    expect(spec.pod).toBeUndefined();
  });

  test("… of 63 characters at most, cut not behind a dot or dash, and still counting", () => {
    const long = vmi({ name: `${"a".repeat(50)}.-${"b".repeat(200)}` });
    const ninth = endedEvacuation("Moved", { name: `${"a".repeat(50)}-${hash}-9`, spec: { vmiName: long.name } });
    expect(started(long).name).toBe(`${"a".repeat(50)}-${hash}-1`);
    expect(started(long, [ninth]).name).toBe(`${"a".repeat(50)}-${hash}-10`);
    expect(started(vmi({ name: "b".repeat(200) })).name).toHaveLength(63);
  });

  test("inherits attempts and back-off of one that rests, and nothing of one that does not", () => {
    expect(started(vmi(), [givenUpAfter(5)]).spec.inherited).toEqual({ attempts: 5, notBefore: time(99) });
    // No more attempts than an Evacuation can say.
    expect(started(vmi(), [givenUpAfter(1003)]).spec.inherited?.attempts).toBe(1000);
    const over = { evacuations: [givenUpAfter(5)], now: at(99) };
    expect(newEvacuation(vmi(), beginning, over).spec.inherited).toBeUndefined();
    expect(started(elsewhere, [givenUpAfter(5)]).spec.inherited).toBeUndefined();
    // A person wants it tried now.
    const before = { evacuations: [givenUpAfter(5)], now: NOW };
    expect(newEvacuation(vmi(), { cause: "Operator", requestedBy: "jane" }, before).spec.inherited).toBeUndefined();
  });
});

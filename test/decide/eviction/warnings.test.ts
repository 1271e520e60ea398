/** What kubectl prints beside a refusal: warnings, which an API server passes on from every webhook. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../../shared/eviction/decide.ts";
import { warningsOf } from "../../../shared/eviction/messages.ts";
import type { EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import {
  at,
  endedEvacuation,
  evacuation,
  EXTERNAL,
  hotplug,
  marked,
  NOW,
  owner,
  PINNED,
  pod,
  time,
  vmi,
} from "../../support/fixtures.ts";
import { decided, eviction, NAMED } from "./evictions.ts";

const warnings = (tweak: Partial<EvictionFacts>) => warningsOf(eviction(tweak), decided(tweak));

const active = (status: Partial<EvacuationStatus>) => [evacuation({ status })];
const older = { name: "older", uid: "older", createdAt: at(-900).getTime() };
const abandoned = endedEvacuation("Abandoned", {
  ...older,
  status: { attempts: 5, message: "5 attempts have failed; the last one: no room", nextAttemptTime: time(300) },
});
const ABANDONED = `the last evacuation of ${NAMED} was abandoned: 5 attempts have failed; the last one: no room`;
const withdrawn = endedEvacuation("Withdrawn", { ...older, status: { nextAttemptTime: time(20) } });
const WITHDRAWN = `the last evacuation of ${NAMED} was withdrawn: stop the drain to keep the VM on its node. Lifeboat starts no new one before 2026-03-01T12:00:20Z, KubeVirt's webhook may`;
const backingOff = { phase: "BackingOff", attempts: 2, message: "no room", nextAttemptTime: time(40) } as const;
const BACKING_OFF = `evacuation of ${NAMED} waits until 2026-03-01T12:00:40Z after 2 of 5 attempts have failed: no room`;
const blocked = {
  phase: "Blocked",
  reason: "DisksNotLiveMigratable",
  message: "the VM is not live-migratable: no",
} as const;
const OWNER = "its owner: stop it, set evictionStrategy LiveMigrateIfPossible, or change what keeps it from migrating";
const ifPossible = vmi({ evictionStrategy: "LiveMigrateIfPossible", ...PINNED });

type Row = readonly [what: string, Partial<EvictionFacts>, expected: readonly string[]];

// prettier-ignore
const rows: readonly Row[] = [
  ["a first request",                        {},                                                             []],
  ["its migration runs",                     { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "Running", message: "m" }) }, []],
  ["it waits for KubeVirt's limits",         { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "Queued", message: "m" }) }, []],
  ["virt-controller is away",                { vmi: marked(), evacuations: active({ phase: "Migrating", reason: "KubeVirtNotAnswering", message: "no answer" }) }, [`${NAMED}: no answer`]],
  ["an attempt has failed",                  { vmi: marked(), evacuations: active(backingOff) },             [BACKING_OFF]],
  ["… after more than one evacuation has",   { vmi: marked(), evacuations: active({ ...backingOff, attempts: 6 }) }, [BACKING_OFF.replace("2 of 5", "6")]],
  ["it is blocked: by whom",                 { vmi: marked(PINNED), evacuations: active(blocked) },          [`${NAMED} cannot leave node node01: the VM is not live-migratable: no; ${OWNER}`]],
  ["its owner is to move it",                { vmi: marked(EXTERNAL), evacuations: active({ phase: "WaitingForExternalController", message: "its owner" }) }, [`${NAMED}: its owner`]],
  ["it was abandoned",                       { evacuations: [abandoned] },                                   [ABANDONED]],
  ["… its back-off is over",                 { evacuations: [abandoned], now: at(301) },                     [ABANDONED]],
  ["… KubeVirt has marked it again",         { vmi: marked(), evacuations: [abandoned] },                    [ABANDONED]],
  ["… and the next one backs off",           { vmi: marked(), evacuations: [abandoned, ...active(backingOff)] }, [ABANDONED, BACKING_OFF]],
  ["… of a pod that the VM has left",        { evacuations: [{ ...abandoned, status: { ...abandoned.status, podUID: "former" } }] }, []],
  ["… twice: the newest",                    { evacuations: [abandoned, { ...abandoned, uid: "newer", name: "newer", createdAt: NOW.getTime(), status: { ...abandoned.status, message: "new" } }] }, [`the last evacuation of ${NAMED} was abandoned: new`]],
  ["it was cancelled, and the drain goes on", { evacuations: [withdrawn] },                                  [WITHDRAWN]],
  ["… KubeVirt has marked it again",         { vmi: marked(), evacuations: [withdrawn] },                    [WITHDRAWN]],
  ["… its back-off is over",                 { evacuations: [withdrawn], now: at(21) },                      []],
  ["it cannot migrate: why, and who can change that", { vmi: vmi(PINNED) },                                  [`${NAMED} is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable; ${OWNER}`]],
  ["no such strategy",                       { vmi: vmi({ evictionStrategy: "LiveMigrat" }) },               [expect.stringMatching(/^VMI "apps\/web": spec\.evictionStrategy is "LiveMigrat", .*; its owner, or the administrator/)]],
  ["it is shut down",                        { vmi: ifPossible },                                            [`${NAMED} will be shut down: eviction strategy LiveMigrateIfPossible, not live-migratable: DisksNotLiveMigratable`]],
  ["its target pod",                         { vmi: marked(), pod: pod({ uid: "target", nodeName: "node02" }), evacuations: active(backingOff) }, []],
  ["its volume",                             { pod: hotplug(), launcher: pod(), evacuations: active(backingOff) }, []],
  ["no pod of a VM",                         { pod: pod({ labels: {} }) },                                   []],
];

test.each(rows)("%s", (_, tweak, expected) => expect(warnings(tweak)).toEqual(expected));

function saying(message: string): string {
  return warnings({ vmi: marked(), evacuations: active({ phase: "BackingOff", message }) })[0] ?? "";
}

describe("as a header carries them", () => {
  test("the same text at each request: kubectl prints it once", () => {
    const [first, later] = [1, 19].map((seconds) => warnings({ evacuations: [withdrawn], now: at(seconds) }));
    expect(later).toEqual(first);
  });

  test.each(["x", "\u{1F600}"])("256 characters at the most: %s", (character) => {
    const text = saying(character.repeat(1000));
    expect(text).toHaveLength(256);
    expect(text).toMatch(/…$/);
    expect(text.isWellFormed()).toBe(true);
  });

  test.each(["two\nlines", "a\ttab", "\u001b[31mred", "a\u202Ebidi", "a\u2028separator", "half\uD83D"])(
    "%j",
    (message) => {
      expect(saying(message)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    },
  );

  test("names as long as they may be", () => {
    const name = "n".repeat(253);
    const long = {
      vmi: vmi({ name, ...PINNED }),
      pod: pod({ owners: [owner({ name })], annotations: { "kubevirt.io/domain": name } }),
    };
    expect(warnings(long)[0]).toHaveLength(256);
  });
});

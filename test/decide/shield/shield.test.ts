/**
 * Tests which VMs the shield protects, how long it refuses the shutdown of a guest, and when it allows the shutdown.
 */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../shared/kube/action.ts";
import type { EvacuationFacts, Phase } from "../../../shared/kube/evacuation.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import {
  armFor,
  holdSeconds,
  isShieldable,
  OVER,
  planShield,
  type Shielded,
  type ShieldWorld,
} from "../../../shared/shield/shield.ts";
import { at, evacuation, migration, node, NODE, NOW, vmi } from "../../support/fixtures.ts";
import { evacuationOf, PRESSURED, pressureWorld, relieving, vmOnNode } from "../../support/pressure/pressured.ts";

/**
 * The launcher destroys the guest 315 s after the request to shut down. The shutdown takes 90 s, and a scheduled run of
 * Lifeboat can be 75 s late. The shield can refuse the shutdown for the rest: 315 s - 90 s - 75 s = 150 s.
 */
const SHIELD = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
const HOLD = 150;
const on = relieving({ shield: SHIELD, isShieldOn: true });
const LONG = { graceSeconds: 300 };

const until = (seconds: number) => String(at(seconds).getTime() / 1000);
const refused = (first: number, last = first) => ({ first: at(first).getTime(), last: at(last).getTime() });

const inPhase = (phase: Phase) => [evacuation({ status: { phase } })];

function reported(actions: readonly Action[]): readonly string[] {
  return actions.map((action) =>
    action.verb === "Shield" ? `${action.vmi.name}: ${action.value ?? "off"}` : action.verb,
  );
}

function plan(tweak: Partial<ShieldWorld>): readonly string[] {
  const world = { ...pressureWorld([]), pressured: [], vmis: [], shielded: [], settings: on, ...tweak };
  return reported(planShield(world).chains.flat());
}

/** Returns the plan for a protected VM on the node under pressure. */
function judged(tweak: Partial<Shielded> & { readonly of?: Partial<VmiFacts> }, world: Partial<ShieldWorld> = {}) {
  const { of, ...more } = tweak;
  const shielded = { vmi: vmi({ ...LONG, shield: until(0), ...of }), node: PRESSURED, migrations: [], ...more };
  return plan({ shielded: [shielded], ...world });
}

// prettier-ignore
describe("the shield covers", () => {
  test.each<[string, Partial<VmiFacts>, boolean]>([
    ["a VM that can migrate and has time for it",       LONG,                                  true ],
    ["no VM with too short a grace period",             { graceSeconds: 299 },                 false],
    ["no VM that starts",                               { ...LONG, phase: "Scheduled" },       false],
  ])("%s", (_, tweak, expected) => {
    expect(isShieldable(vmi(tweak), on)).toBe(expected);
  });

  test.each([
    // guest's grace (s)   kubelet's maximum (s)   shutdown (s)   refused for (s)
    [300,                  600,                    90,            150],
    [900,                  600,                    90,            435],
    [300,                  200,                    90,             35],
    [300,                  600,                    180,            60],
    [300,                  600,                    10,            230],
  ])("a guest with %i s of grace, the kubelet's %i s and %i s to shut down for %i s", (graceSeconds, max, shutdownSeconds, seconds) => {
    const settings = relieving({ shield: { maxPodGracePeriodSeconds: max, shutdownSeconds } });
    expect(holdSeconds(vmi({ graceSeconds }), settings)).toBe(seconds);
    expect(isShieldable(vmi({ graceSeconds }), settings)).toBe(seconds >= 60);
  });

  test("all VMs of a node under pressure, before other actions", () => {
    const vmsOnNode = ["a", "b", "c"].map((name) => vmOnNode(name, {}, LONG));
    const pressured = [{ node: PRESSURED, labels: {}, vmsOnNode: [...vmsOnNode, vmOnNode("short")], evacuations: [] }];
    expect(plan({ pressured })).toEqual(["a", "b", "c"].map((name) => `${name}: ${until(HOLD)}`));
  });

  test.each([until(10), OVER])("no VM a second time that has the label %s", (shield) => {
    const pressured = [{ node: PRESSURED, labels: {}, vmsOnNode: [vmOnNode("a", {}, { ...LONG, shield })], evacuations: [] }];
    expect(plan({ pressured })).toEqual([]);
  });
});

// prettier-ignore
describe("before the guard allows a deletion, the shield covers", () => {
  const moving = { isMigrating: true };

  test.each<[string, Partial<VmiFacts>, readonly EvacuationFacts[], readonly string[]]>([
    ["a VM that migrates",               moving,                          [],                     [`web: ${until(HOLD)}`]],
    ["a VM whose migration is queued",   {},                              inPhase("Migrating"),   [`web: ${until(HOLD)}`]],
    ["no VM whose migration has failed", {},                              inPhase("BackingOff"),  []],
    ["no VM a second time",              { ...moving, shield: OVER },     [],                     []],
  ])("%s", (_, tweak, evacuations, expected) => {
    const own = vmi({ ...LONG, ...tweak });
    expect(reported(armFor(own, { settings: on, now: NOW, evacuations }))).toEqual(expected);
    expect(armFor(own, { settings: relieving(), now: NOW, evacuations })).toEqual([]);
  });

  test("a VM with a label that may fail, because the answer has to be given", () => {
    const own = vmi({ ...LONG, ...moving });
    expect(armFor(own, { settings: on, now: NOW, evacuations: [] })).toMatchObject([{ optional: true }]);
  });
});

describe("while the danger lasts, a shield", () => {
  // prettier-ignore
  test.each<[string, Parameters<typeof judged>[0], readonly string[]]>([
    ["starts anew if the last refusal was long before",         { refusal: refused(-HOLD - 1) },                       [`web: ${until(HOLD)}`]],
    ["lasts for the rest of the time after an earlier refusal", { refusal: refused(-30) },                             [`web: ${until(HOLD - 30)}`]],
    ["ends after refusals for all of the time",                 { refusal: refused(-HOLD) },                           [`web: ${OVER}`]],
    ["ends if the refusals are unknown",                        { refusal: "Unknown" },                                [`web: ${OVER}`]],
    ["ends together with the VM's migration",                   { refusal: "Unknown", migrations: [migration()] },     [`web: ${OVER}`, "DeleteMigration"]],
    ["ends without deleting an ended migration",                { refusal: "Unknown", migrations: [migration({ phase: "Failed" })] }, [`web: ${OVER}`]],
    ["that has ended stays so",                                 { of: { shield: OVER } },                              []],
    ["with another party's value is set",                       { of: { shield: "mine" } },                            [`web: ${until(HOLD)}`]],
    ["with another party's time is set",                        { of: { shield: `${until(100)}s` } },                  [`web: ${until(HOLD)}`]],
    ["with a time after another party's text is set",           { of: { shield: `x${until(100)}` } },                  [`web: ${until(HOLD)}`]],
    ["that has just started stays so",                          { of: { shield: until(HOLD) } },                       []],
    ["with a time too far away is corrected",                   { of: { shield: until(HOLD + 60) } },                  [`web: ${until(HOLD)}`]],
    ["with a time too far away, whose refusals are unknown, is corrected", { of: { shield: until(HOLD + 99_999) }, refusal: "Unknown" }, [`web: ${until(HOLD)}`]],
  ])("%s", (_, tweak, expected) => {
    expect(judged(tweak)).toEqual(expected);
  });
});

describe("the shield is removed", () => {
  const calm = node();
  const later = { shield: until(100) };
  const leaving = evacuationOf("web", { status: { sourceNode: NODE } });
  const preempted = { ...leaving, spec: { ...leaving.spec, cause: "Preemption" } } as const;
  const ended = { ...preempted, status: { ...preempted.status, phase: "Abandoned" } } as const;
  // prettier-ignore
  test.each<[string, Parameters<typeof judged>[0], Partial<ShieldWorld>, readonly string[]]>([
    ["when the pressure has ended",              { of: later, node: calm },                            {},                             ["web: off"]],
    ["not while the VM is being evacuated",          { of: later, node: calm },                            { evacuations: [leaving] },     []],
    ["when the VM's evacuation has ended",                { of: later, node: calm },                            { evacuations: [ended] },       ["web: off"]],
    ["when the VM has moved",                      { of: { ...later, nodeName: "node02" }, node: calm }, { evacuations: [leaving] },     ["web: off"]],
    ["when the node is gone",                  { of: later, node: undefined },                       {},                             ["web: off"]],
    ["when the VM's owner stops it",                { of: { ...later, deleting: true } },                 {},                             ["web: off"]],
  ])("%s", (_, tweak, world, expected) => {
    expect(judged(tweak, world)).toEqual(expected);
  });

  test("by a full scan after the feature was switched off", () => {
    const vmis = [vmi({ shield: until(9) }), vmi({ name: "never-shielded" })];
    expect(plan({ settings: relieving(), vmis })).toEqual(["web: off"]);
  });
});

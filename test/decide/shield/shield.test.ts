/** The shield covers some VMs, refuses a shutdown for a time, and then allows it. */
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

/** The smallest of both limits is 315 s: 315 - 90 - 75 = 150 s. */
const SHIELD = { maxPodGracePeriodSeconds: 600, shutdownSeconds: 90 };
const HOLD = 150;
const on = relieving({ shield: SHIELD, isShieldOn: true });
const LONG = { graceSeconds: 300 };

/** In seconds from now. */
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

/** A covered VM of the node under pressure. */
function judged(tweak: Partial<Shielded> & { readonly of?: Partial<VmiFacts> }, world: Partial<ShieldWorld> = {}) {
  const { of, ...more } = tweak;
  const shielded = { vmi: vmi({ ...LONG, shield: until(0), ...of }), node: PRESSURED, migrations: [], ...more };
  return plan({ shielded: [shielded], ...world });
}

// prettier-ignore
describe("covers", () => {
  test.each<[string, Partial<VmiFacts>, boolean]>([
    ["a VM that can migrate, with time for it",       LONG,                                  true ],
    ["none with too short a grace period",            { graceSeconds: 299 },                 false],
    ["none that starts",                              { ...LONG, phase: "Scheduled" },       false],
  ])("%s", (_, tweak, expected) => {
    expect(isShieldable(vmi(tweak), on)).toBe(expected);
  });

  test.each([
    // the guest's   the kubelets'   shutdown   refused for
    [300,            600,            90,        150],
    [900,            600,            90,        435],
    [300,            200,            90,         35],
    [300,            600,            10,        230],
  ])("with %i s of its own, %i s of the kubelet's, %i s to shut down: %i s", (graceSeconds, max, shutdownSeconds, seconds) => {
    const settings = relieving({ shield: { maxPodGracePeriodSeconds: max, shutdownSeconds } });
    expect(holdSeconds(vmi({ graceSeconds }), settings)).toBe(seconds);
    expect(isShieldable(vmi({ graceSeconds }), settings)).toBe(seconds >= 60);
  });

  test("all of a node under pressure, before anything else happens to them", () => {
    const vmsOnNode = ["a", "b", "c"].map((name) => vmOnNode(name, {}, LONG));
    const pressured = [{ node: PRESSURED, labels: {}, vmsOnNode: [...vmsOnNode, vmOnNode("short")], evacuations: [] }];
    expect(plan({ pressured })).toEqual(["a", "b", "c"].map((name) => `${name}: ${until(HOLD)}`));
  });

  test.each([until(10), OVER])("nobody twice: label %s", (shield) => {
    const pressured = [{ node: PRESSURED, labels: {}, vmsOnNode: [vmOnNode("a", {}, { ...LONG, shield })], evacuations: [] }];
    expect(plan({ pressured })).toEqual([]);
  });
});

// prettier-ignore
describe("before the guard lets a deletion go", () => {
  const moving = { isMigrating: true };

  test.each<[string, Partial<VmiFacts>, readonly EvacuationFacts[], readonly string[]]>([
    ["a VM that moves",                 moving,                          [],                     [`web: ${until(HOLD)}`]],
    ["one whose migration is queued",   {},                              inPhase("Migrating"),   [`web: ${until(HOLD)}`]],
    ["none whose migration has failed", {},                              inPhase("BackingOff"),  []],
    ["none twice",                      { ...moving, shield: OVER },     [],                     []],
  ])("%s", (_, tweak, evacuations, expected) => {
    const own = vmi({ ...LONG, ...tweak });
    expect(reported(armFor(own, { settings: on, now: NOW, evacuations }))).toEqual(expected);
    expect(armFor(own, { settings: relieving(), now: NOW, evacuations })).toEqual([]);
  });
});

describe("while the danger lasts", () => {
  // prettier-ignore
  test.each<[string, Parameters<typeof judged>[0], readonly string[]]>([
    ["refused long before it was covered: goes on",   { refusal: refused(-HOLD - 1) },                       [`web: ${until(HOLD)}`]],
    ["refused a while ago: for the rest of the time", { refusal: refused(-30) },                             [`web: ${until(HOLD - 30)}`]],
    ["refused all the time: over",                    { refusal: refused(-HOLD) },                           [`web: ${OVER}`]],
    ["unknown: over",                                 { refusal: "Unknown" },                                [`web: ${OVER}`]],
    ["over, and migrating: the migration too",        { refusal: "Unknown", migrations: [migration()] },     [`web: ${OVER}`, "DeleteMigration"]],
    ["not one that has ended",                        { refusal: "Unknown", migrations: [migration({ phase: "Failed" })] }, [`web: ${OVER}`]],
    ["once over, for good",                           { of: { shield: OVER } },                              []],
    ["a value of another party's",                    { of: { shield: "mine" } },                            [`web: ${until(HOLD)}`]],
    ["a time too far away",                           { of: { shield: until(HOLD + 60) } },                  [`web: ${until(HOLD)}`]],
  ])("%s", (_, tweak, expected) => {
    expect(judged(tweak)).toEqual(expected);
  });
});

describe("lets go", () => {
  const calm = node();
  const later = { shield: until(100) };
  const leaving = evacuationOf("web", { status: { sourceNode: NODE } });
  const preempted = { ...leaving, spec: { ...leaving.spec, cause: "Preemption" } } as const;
  const ended = { ...preempted, status: { ...preempted.status, phase: "Abandoned" } } as const;
  // prettier-ignore
  test.each<[string, Parameters<typeof judged>[0], Partial<ShieldWorld>, readonly string[]]>([
    ["when the pressure is gone",              { of: later, node: calm },                            {},                             ["web: off"]],
    ["not while the VM still leaves",          { of: later, node: calm },                            { evacuations: [leaving] },     []],
    ["but when that has ended",                { of: later, node: calm },                            { evacuations: [ended] },       ["web: off"]],
    ["when it has moved",                      { of: { ...later, nodeName: "node02" }, node: calm }, { evacuations: [leaving] },     ["web: off"]],
    ["when the node is gone",                  { of: later, node: undefined },                       {},                             ["web: off"]],
    ["when its owner stops it",                { of: { ...later, deleting: true } },                 {},                             ["web: off"]],
    ["in a full scan, where it is switched off", {}, { settings: relieving(), vmis: [vmi({ shield: until(9) }), vmi()] },            ["web: off"]],
  ])("%s", (_, tweak, world, expected) => {
    expect(judged(tweak, world)).toEqual(expected);
  });
});

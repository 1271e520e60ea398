/** Limits: how many migrations may be unfinished, counted over everybody's, and who is let in first. */
import { describe, expect, test } from "vitest";
import { candidatesOf, type EvacuationWorld } from "../../shared/policy/evacuation.ts";
import type { MigrationFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { disruptionRecord } from "../../shared/policy/record.ts";
import { grantedSlots, keptSlots, type Slot, slotFor } from "../../shared/policy/slots.ts";
import { marked, migration, NODE, NOW, only, record, settings, time, vmi } from "./fixtures.ts";
import { grownFor, markedCalled, plannedEvacuations, slotOf, world } from "./worlds.ts";

const LIMITS = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 };

function candidate(subject: VmiFacts) {
  return { vmi: subject, record: subject.record ?? record() };
}

/** Names of the VMs that get a slot. */
function granted(
  vmis: readonly VmiFacts[],
  { kept = [], migrations = [], limits = LIMITS }: Given = {},
): readonly string[] {
  return grantedSlots(kept, migrations, vmis.map(candidate), limits).map((slot) => slot.vmi);
}

interface Given {
  readonly kept?: readonly Slot[];
  readonly migrations?: readonly MigrationFacts[];
  readonly limits?: typeof LIMITS;
}

function on(node: string, ...names: readonly string[]): readonly VmiFacts[] {
  return names.map((name) => markedCalled(name, node));
}

function foreign(name: string, tweak: Partial<MigrationFacts> = {}): MigrationFacts {
  return migration({ name, uid: name, vmiName: name, ...tweak });
}

describe("who gets a slot", () => {
  const abc = on("node01", "a", "b", "c");

  test("two leave a node at a time", () => expect(granted(abc)).toEqual(["a", "b"]));

  test("the next node is not held up by a full one", () => {
    expect(granted([...abc, ...on("node02", "d", "e", "f")])).toEqual(["a", "b", "d", "e"]);
  });

  test("five leave their node at a time in the cluster", () => {
    const six = ["1", "2", "3", "4", "5", "6"].flatMap((n) => on(`node0${n}`, `vm${n}`));
    expect(granted(six)).toEqual(["vm1", "vm2", "vm3", "vm4", "vm5"]);
  });

  test("reserved slots count, created or not", () => {
    expect(granted(abc.slice(1), { kept: abc.slice(0, 1).map(slotOf) })).toEqual(["b"]);
    expect(granted(abc.slice(2), { kept: abc.slice(0, 2).map(slotOf) })).toEqual([]);
  });

  test("a slot and its migration count once", () => {
    const [a] = abc.map((v) => foreign(v.name, { name: slotOf(v).name }));
    expect(granted(abc.slice(1), { kept: abc.slice(0, 1).map(slotOf), migrations: a ? [a] : [] })).toEqual(["b"]);
  });

  test("nobody gets a second one", () => expect(granted(abc, { kept: abc.slice(0, 1).map(slotOf) })).toEqual(["b"]));

  // prettier-ignore
  test.each([
    ["running",                       { phase: "Running" },                                           ["a"]],
    ["pending",                       { phase: "Pending" },                                           ["a"]],
    ["just made",                     { phase: "" },                                                  ["a"]],
    ["being deleted",                 { deleting: true },                                             ["a"]],
    ["an evacuation of KubeVirt's",   { evacuates: "node01" },                                        ["a"]],
    ["the status tells better",       { sourceNode: "node01", evacuates: "node09" },                  ["a"]],
    ["of a VM in another namespace",  { namespace: "other" },                                         ["a"]],
    ["from another node",             { sourceNode: "node02" },                                       ["a", "b"]],
    ["succeeded",                     { phase: "Succeeded" },                                         ["a", "b"]],
    ["failed",                        { phase: "Failed" },                                            ["a", "b"]],
  ])("somebody's migration, %s", (_, tweak, expected) => {
    expect(granted(abc, { migrations: [foreign("theirs", tweak)] })).toEqual(expected);
  });

  test("a migration that does not tell its node counts in the cluster", () => {
    const { sourceNode: _, ...lost } = foreign("theirs");
    const limits = { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 2 };
    expect(granted(abc, { migrations: [lost], limits })).toEqual([]);
    expect(granted(abc, { migrations: [lost] })).toEqual(["a", "b"]);
  });

  test("an annotation tells the node where the status does not yet", () => {
    const { sourceNode: _, ...early } = foreign("theirs", { evacuates: "node01" });
    expect(granted(abc, { migrations: [early] })).toEqual(["a"]);
  });

  test("above the limit already, because others do not ask us: nobody", () => {
    const six = ["1", "2", "3", "4", "5", "6"].map((n) => foreign(n, { sourceNode: `node1${n}` }));
    expect(granted(abc, { migrations: six })).toEqual([]);
  });

  test("a limit of nothing is nothing", () => {
    expect(granted(abc, { limits: { ...LIMITS, parallelMigrationsPerCluster: 0 } })).toEqual([]);
    expect(granted(abc, { limits: { ...LIMITS, parallelOutboundMigrationsPerNode: 0 } })).toEqual([]);
  });
});

describe("who keeps a slot", () => {
  const subject = marked();
  const slot = slotOf(subject);
  const own = foreign("web", { name: slot.name });

  // prettier-ignore
  test.each([
    ["still to be created, wanted",          [],                                    [subject],                        true],
    ["still to be created, not wanted",      [],                                    [],                               false],
    ["wanted by a later attempt",            [],                                    [marked({}, { attempts: 1 })],    false],
    ["wanted by another evacuation",         [],                                    [marked({}, { id: "0000000b" })], false],
    ["wanted by a VMI made anew",            [],                                    [marked({ uid: "anew" })],        false],
    ["its migration is pending",             [{ ...own, phase: "Pending" }],        [],                               true],
    ["its migration runs",                   [own],                                 [],                               true],
    ["its migration is being deleted",       [{ ...own, deleting: true }],          [],                               true],
    ["its migration has succeeded",          [{ ...own, phase: "Succeeded" }],      [],                               false],
    ["its migration has failed",             [{ ...own, phase: "Failed" }],         [subject],                        false],
    ["another migration runs",               [foreign("web")],                      [],                               false],
  ])("%s", (_, migrations, wanting, kept) => {
    expect(keptSlots([slot], migrations, wanting.map(candidate))).toEqual(kept ? [slot] : []);
  });
});

function plan(vmis: readonly VmiFacts[], tweak: Partial<EvacuationWorld> = {}) {
  const actions = plannedEvacuations({ vmis, settings: settings({ evacuation: { adoptSeconds: 0 } }), ...tweak });
  return only("WriteSlots", actions).map(({ slots }) => slots.map((slot) => slot.vmi));
}

describe("in a plan", () => {
  test("what goes and what comes are written together", () => {
    const gone = slotOf(markedCalled("gone"));
    expect(plan(on("node01", "a"), { register: { resourceVersion: "3", slots: [gone] } })).toEqual([["a"]]);
  });

  test("nothing to change is not written", () => {
    const [a] = on("node01", "a");
    expect(plan(a ? [a] : [], { register: { slots: a ? [slotOf(a)] : [] } })).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["the time left to KubeVirt",      { since: time(-1) }],
    ["the back-off",                   { attempts: 1, notBefore: time(10) }],
  ])("for whoever's clock is slow %s is not over: a slot granted meanwhile stays, and is not created", (_, ofRecord) => {
    const [slow, next] = [markedCalled("slow", "node01", ofRecord), markedCalled("next")];
    const limits = { parallelMigrationsPerCluster: 1 };
    const register = { resourceVersion: "1", slots: [slotOf(slow)] };
    const auto = settings({ limits, evacuation: { adoptSeconds: 5 } });
    expect(plannedEvacuations({ vmis: [slow, next], register, settings: auto })).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["its mark was taken back",          vmi({ name: "back", uid: "back", record: record() })],
    ["it was cancelled just now",        vmi({ name: "back", uid: "back", record: record({ outcome: "Cancelled", notBefore: time(20) }) })],
  ])("%s: its slot is nobody else's yet, for its migration may be on its way", (_, back) => {
    const register = { resourceVersion: "1", slots: [slotFor({ vmi: back, record: record() })] };
    const limits = { parallelMigrationsPerCluster: 1 };
    const given = { register, settings: settings({ limits, evacuation: { adoptSeconds: 0 } }) };
    expect(plan([back, markedCalled("next")], given)).toEqual([]);
    const rested = { ...back, record: record({ outcome: "Cancelled", notBefore: time(-1) }) };
    expect(plan([rested, markedCalled("next")], given)).toEqual([["next"]]);
  });

  test("its rest is remembered by the evacuation that takes its place: the old slot is nobody else's yet", () => {
    const cancelled = vmi({ name: "back", uid: "back", record: record({ outcome: "Cancelled", notBefore: time(20) }) });
    const register = { resourceVersion: "1", slots: [slotFor({ vmi: cancelled, record: record() })] };
    const limits = { parallelMigrationsPerCluster: 1 };
    const given = { register, settings: settings({ limits, evacuation: { adoptSeconds: 0 } }) };
    const preempted = { cause: "Preemption", requestedBy: "system:kube-scheduler", node: NODE } as const;
    const anew = disruptionRecord(cancelled, preempted, { since: NOW.getTime() - 60_000, now: NOW });
    const next = markedCalled("next");
    expect(plan([{ ...cancelled, record: anew, evacuationNodeName: NODE }, next], given)).toEqual([]);
    const rested = { ...anew, resting: [{ id: record().id, attempts: 0, notBefore: time(-1) }] };
    expect(plan([{ ...cancelled, record: rested, evacuationNodeName: NODE }, next], given)).toEqual([["back"]]);
  });

  test("urgent ones first, then whoever has waited longest, then by name", () => {
    const vmis = [
      markedCalled("z-late", "node01", { since: time(-10) }),
      markedCalled("y-early", "node01", { since: time(-90) }),
      markedCalled("b-same", "node01", { since: time(-20) }),
      markedCalled("a-same", "node01", { since: time(-20) }),
      markedCalled("x-urgent", "node01", { since: time(-5), cause: "NodePressure" }),
      markedCalled("w-urgent", "node01", { since: time(-6), cause: "Preemption" }),
    ];
    const limits = { parallelMigrationsPerCluster: 9, parallelOutboundMigrationsPerNode: 9 };
    const order = [["w-urgent", "x-urgent", "y-early", "a-same", "b-same", "z-late"]];
    expect(plan(vmis, { settings: settings({ evacuation: { adoptSeconds: 0 }, limits }) })).toEqual(order);
  });

  test("pods are counted of those only whose slot is reserved and uncreated", () => {
    const [a, b] = [markedCalled("a"), markedCalled("b")];
    const w = world({ vmis: [a, b], budgets: [grownFor(a), grownFor(b)], register: { slots: [slotOf(b)] } });
    expect(candidatesOf(w).map((v) => v.name)).toEqual(["b"]);
    const created = foreign("b", { name: slotOf(b).name, phase: "Pending" });
    expect(candidatesOf({ ...w, migrations: [created] })).toEqual([]);
  });

  test("a slot of a VM that does not wait for a migration is not created", () => {
    const idle = { ...markedCalled("a"), evictionStrategy: "External" };
    expect(plannedEvacuations({ vmis: [idle], register: { slots: [slotOf(idle)] } })).toEqual([
      { verb: "WriteSlots", slots: [] },
    ]);
  });
});

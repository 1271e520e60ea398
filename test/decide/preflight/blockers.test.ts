/** What is in the way of a node's emptying: what counts, in which group, in which order. */
import { expect, test } from "vitest";
import { blockersOf } from "../../../shared/preflight/progress.ts";
import { subjectsOf } from "../../../shared/preflight/subjects.ts";
import { evacuation, EXTERNAL, migration, PINNED, time } from "../../support/fixtures.ts";
import { facts, foreignBudget, launcher, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const NO_ROOM = {
  fits: false,
  nodes: 0,
  message: "no other node has room for it: Resources",
};
const backingOff = evacuation({
  status: { phase: "BackingOff", attempts: 2, nextAttemptTime: time(60), message: "the target pod found no node" },
  spec: { pod: { uid: "pod-web" } },
});

const status = { phase: "Abandoned", attempts: 5, message: "gave up after 5 attempts" } as const;
const abandoned = { ...evacuation({ uid: "given-up", spec: { pod: { uid: "pod-web" } }, status }), createdAt: 1 };
const anew = { ...evacuation({ uid: "anew", spec: { pod: { uid: "pod-web" } } }), createdAt: 2 };

interface Row {
  readonly room?: typeof NO_ROOM;
  readonly facts: Parameters<typeof facts>[0];
  /** Undefined: nothing is in the way. */
  readonly found?: readonly [kind: string, reason: string, message?: RegExp];
}
// prettier-ignore
const ROWS: readonly (readonly [what: string, row: Row])[] = [
  ["a VM that moves",                          { facts: {} }],
  ["a pinned one",                             { facts: { vmis: [vmiOf("web", PINNED)] }, found: ["Blocked", "NotMigratable", /not live-migratable/] }],
  ["an External one",                          { facts: { vmis: [vmiOf("web", EXTERNAL)] }, found: ["Blocked", "External", /its owner/] }],
  ["an External one whose owner moves it",     { facts: { vmis: [vmiOf("web", { ...EXTERNAL, evacuationNodeName: "node01", isMigrating: true })] } }],
  ["… whose owner has asked KubeVirt to",      { facts: { vmis: [vmiOf("web", EXTERNAL)], migrations: [migration({ phase: "Pending" })] } }],
  ["one without room elsewhere",               { facts: {}, room: NO_ROOM, found: ["NoRoom", "NoRoom", /Resources/] }],
  ["one that moves although no room was seen", { facts: { vmis: [vmiOf("web", { evacuationNodeName: "node01", isMigrating: true })] }, room: NO_ROOM }],
  ["one that backs off",                       { facts: { vmis: [vmiOf("web", { evacuationNodeName: "node01" })], evacuations: [backingOff] }, found: ["Waits", "BackingOff", /found no node/] }],
  ["one that Lifeboat has given up", { facts: { vmis: [vmiOf("web", { evacuationNodeName: "node01" })], evacuations: [abandoned] }, found: ["Waits", "Abandoned", /gave up/] }],
  ["one that was given up, and then taken up anew", { facts: { vmis: [vmiOf("web", { evacuationNodeName: "node01" })], evacuations: [abandoned, anew] } }],
  ["one that is shut down",                    { facts: { vmis: [vmiOf("web", { ...PINNED, evictionStrategy: "LiveMigrateIfPossible" })] }, found: ["ShutsDown", "ShutdownByStrategy"] }],
  ["a pod with its budget used up",            { facts: { pods: [plainPod("cart")], vmis: [], budgets: [foreignBudget("cart", "cart")] }, found: ["Waits", "BudgetExhausted", /allows no disruption/] }],
  ["a pod that no controller makes anew",      { facts: { pods: [plainPod("loner", { owners: [] })], vmis: [] }, found: ["Blocked", "Unmanaged"] }],
  ["a pod with local data",                    { facts: { pods: [plainPod("cache", { localStorage: true })], vmis: [] }, found: ["Blocked", "LocalStorage"] }],
];

test.each(ROWS)("%s", (_, { facts: tweak, room, found }) => {
  const [one, ...others] = blockersOf(subjectsOf(facts({ evacuations: [], ...tweak })), () => room);
  expect(others).toEqual([]);
  const [kind, reason, message] = found ?? [];
  expect([one?.kind, one?.reason]).toEqual([kind, reason]);
  expect(one?.held[0]?.message ?? "").toMatch(message ?? /^/);
});

test("what blocks for the same reason is one group, and what blocks comes before what waits", () => {
  const names = ["a", "b", "web"];
  const f = facts({
    pods: names.map((name) => launcher(name)),
    vmis: [vmiOf("a", PINNED), vmiOf("b", PINNED), vmiOf("web", { evacuationNodeName: "node01" })],
    evacuations: [backingOff],
  });
  const found = blockersOf(subjectsOf(f));
  expect(found.map(({ kind, held }) => [kind, held.length])).toEqual([
    ["Blocked", 2],
    ["Waits", 1],
  ]);
});

test("what is left to a person says who that is", () => {
  for (const one of blockersOf(subjectsOf(facts({ vmis: [vmiOf("web", PINNED)] }))))
    expect(one.remedy).toContain("its owner");
});

/** What a run has to come to before it is judged, and that descheduling has to ask. */
import { expect, test } from "vitest";
import { ALWAYS, type CastMember } from "../../infra/chaos/cast.ts";
import type { FaultName } from "../../infra/chaos/fault-table.ts";
import { missingIn, type View } from "../../infra/chaos/goal.ts";
import { keyOf, type KubeObject } from "../../infra/sandbox/actors/resources.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { launcher, vmi } from "./objects.ts";

// prettier-ignore
const NODES = { Drained: "drained", Preempted: "preempted", Tainted: "tainted", Unsettled: "unsettled", Ending: "ending", Pressed: "pressed", Covered: "covered", Exposed: "exposed", Retired: "retired" };

function cached<T extends KubeObject>(objects: readonly T[]) {
  return { list: () => objects, get: (key: string) => objects.find((object) => keyOf(object) === key) };
}

interface Tweak {
  readonly member?: Partial<CastMember>;
  readonly now?: VirtualMachineInstance;
  readonly faults?: readonly FaultName[];
  /** The Lease. */
  readonly held?: boolean;
  readonly asked?: boolean;
  readonly abandoned?: boolean;
  readonly drained?: boolean;
}

/** One VM, `web`, and its launcher. */
function missing({ member, now, faults = [], held, asked, abandoned, drained = true }: Tweak): readonly string[] {
  const vms = [
    { name: "web", place: "Drained", strategy: "LiveMigrate", migratable: true, failures: 0, ...member } as const,
  ];
  const pods = now === undefined ? [] : [launcher(now)];
  const metadata = { ...launcher(vmi()).metadata, namespace: "lifeboat-system", name: "lifeboat-descheduling" };
  const leases = cached([{ metadata, spec: { holderIdentity: held ? "lifeboat" : "" } }]);
  const view: View = {
    arena: { observer: { vmis: cached(now === undefined ? [] : [now]), pods: cached(pods), leases } },
    plan: { faults, vms },
    scene: { namespace: "run-1", nodeOf: NODES },
    drain: { isDone: drained },
  };
  return missingIn(view, {
    abandoned: new Set(abandoned ? ["uid-web"] : []),
    asked: new Set(asked ? ["uid-of-some-pod"] : []),
  });
}

const on = (nodeName: string) => vmi({ status: { nodeName } });
const retired = { place: "Retired" } as const;
const pinned = { migratable: false } as const;
const unknown = { strategy: "Unknown" } as const;
const faults = ["Descheduling"] as const;
const UNASKED = ["descheduling has asked for no VM"];

// prettier-ignore
const rows: readonly (readonly [string, Tweak, readonly string[]])[] = [
  ["it has left",                                { now: on("elsewhere") },                                        []],
  ["it is where it was",                         { now: on("drained") },                                          ["web has not left the node (Drained)"]],
  ["it is gone",                                 {},                                                              []],
  ["it is being deleted",                       { now: vmi({ status: { nodeName: "drained" }, deleting: true }) }, []],
  ["it never can, and was tried",                { now: on("drained"), member: { failures: ALWAYS }, abandoned: true }, []],
  ["it never can, and is still tried",           { now: on("drained"), member: { failures: ALWAYS } },            ["web has not left the node (Drained)"]],
  ["it is refused, and so is the drain",         { now: on("drained"), member: pinned, drained: false },          []],
  ["it is refused, whatever its disk is",        { now: on("drained"), member: unknown, drained: false },         []],
  ["it is refused, and has left all the same",   { now: on("elsewhere"), member: unknown },                       ["web has left, though it is refused"]],
  ["a taint that goes again may leave it",       { now: on("unsettled"), member: { place: "Unsettled" } },        []],
  ["the drain goes on",                          { now: on("elsewhere"), drained: false },                        ["the drain has not come to its end"]],
  ["the preemptor waits",                        { now: on("elsewhere"), faults: ["Preemption"] },                ["the preemptor does not run"]],
  ["a preemptor may leave it",                   { now: on("preempted"), member: { place: "Preempted" } },        []],
  ["descheduling has asked for no VM",          { now: on("retired"), member: retired, faults },                 UNASKED],
  ["descheduling has asked, in vain or not",     { now: on("retired"), member: retired, faults, asked: true },    []],
  ["another request was faster",                   { now: on("elsewhere"), member: retired, faults },               []],
  ["its owner has deleted it",                   { member: retired, faults },                                     []],
  ["it cannot move",                             { now: on("retired"), member: { ...retired, migratable: false }, faults }, []],
  ["its request was broken off",                 { now: on("retired"), member: retired, faults: [...faults, "WorkerKilled"], held: true }, []],
  ["its request was not, though it might be",    { now: on("retired"), member: retired, faults: [...faults, "WorkerKilled"] }, UNASKED],
  ["its request stopped where nothing breaks",   { now: on("retired"), member: retired, faults: [...faults, "Latency"], held: true }, UNASKED],
];
test.each(rows)("%s", (_, tweak, expected) => expect(missing(tweak)).toEqual(expected));

/** Tests which changes of objects the relay reports to the Worker. */
import { describe, expect, test } from "vitest";
import { noticeOf } from "../../../infra/relay/event.ts";
import {
  EVACUATIONS,
  MIGRATIONS,
  NODES,
  PODS,
  VIRTUAL_MACHINE_INSTANCES,
  type WatchedKind,
} from "../../../infra/relay/kinds.ts";
import { NODE_EVACUATIONS, ROLLING_MAINTENANCES } from "../../../infra/relay/maintenance-kinds.ts";
import { killingOf, kubeletEvents } from "../../../infra/relay/kubelet-events.ts";
import type { EvacuationSpec, EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import * as facts from "../../support/fixtures.ts";
import { evacuationObject, migrationObject, vmiObject } from "../../support/cluster/objects.ts";
import { nodeObject, podObject } from "../../support/cluster/pods-and-nodes.ts";

const { NODE, NOW, POD_NAME, POD_UID, time, VMI_UID } = facts;
const NONE = undefined;
const REPORTED = true;

type Row = readonly [string, object | undefined, object | undefined, boolean];

function noticed<Facts>(kind: WatchedKind<Facts>, before: object | undefined, now: object | undefined) {
  const read = (object: object | undefined) => (object === undefined ? undefined : kind.read(object));
  return noticeOf(kind, read(now), read(before))?.notice;
}

function changes<Facts>(kind: WatchedKind<Facts>, rows: readonly Row[]): void {
  test.each(rows)("%s", (_, before, now, expected) => {
    expect(noticed(kind, before, now) !== undefined).toBe(expected);
  });
}

const pod = (tweak: Parameters<typeof facts.pod>[0] = {}) => podObject(facts.pod(tweak));
const vmi = (tweak: Parameters<typeof facts.vmi>[0] = {}) => vmiObject(facts.vmi(tweak));
const node = (tweak: Parameters<typeof facts.node>[0] = {}) => nodeObject(facts.node(tweak));
const migration = (phase: string) => migrationObject(facts.migration({ phase }));
const evacuation = (spec: Partial<EvacuationSpec> = {}, status: Partial<EvacuationStatus> = {}) =>
  evacuationObject(facts.newborn({ spec: { cause: "Operator", ...spec }, status }));

const target = (seconds: number, active = true, reason = "PreemptionByScheduler") => {
  return { disruptionTarget: { active, reason, since: time(seconds) } };
};

describe("a launcher pod", () => {
  const preempted = pod(target(0));
  const rescued = pod(target(0, false));
  const completed = { phase: "Succeeded" };
  const evicted = (phase: string) => pod({ ...target(0, true, "TerminationByKubelet"), phase });

  // prettier-ignore
  changes(PODS, [
    ["appears",                                  NONE,                pod(),                                       false],
    ["appears, preempted",                       NONE,                preempted,                                   REPORTED],
    ["is preempted",                             pod(),               preempted,                                   REPORTED],
    ["stays preempted",                          preempted,           pod({ ...target(0), annotations: {} }),      false],
    ["is no longer preempted",                   preempted,           rescued,                                     false],
    ["is preempted again",                       rescued,             preempted,                                   REPORTED],
    ["is preempted again, unnoticed in between", preempted,           pod(target(120)),                            REPORTED],
    ["is deleted",                               pod(),               pod({ deleting: true }),                     false],
    ["is deleted when it is preempted",          preempted,           pod({ ...target(0), deleting: true }),       REPORTED],
    ["is deleted when it has ended",             pod(completed),      pod({ ...completed, deleting: true }),       false],
    ["fails as the kubelet wants",               pod(),               evicted("Failed"),                           REPORTED],
    ["succeeds as the kubelet wants",            pod(),               evicted("Succeeded"),                        REPORTED],
    ["still runs while the kubelet ends it",     NONE,                evicted("Running"),                          REPORTED],
    ["appears, ended by the kubelet",            NONE,                evicted("Failed"),                           false],
    ["was ended by the kubelet before",          evicted("Failed"),   evicted("Failed"),                           false],
    ["fails by itself",                          pod(),               pod({ phase: "Failed" }),                    false],
  ]);

  test("that its kubelet has ended is reported like the kubelet's Event", () => {
    const data = { namespace: "apps", ...POD, reason: "TerminationByKubelet" };
    expect(noticed(PODS, pod(), evicted("Succeeded"))).toEqual({ type: "dev.lifeboat.pod.killing.v1", data });
  });
});

describe("a VMI", () => {
  // prettier-ignore
  changes(VIRTUAL_MACHINE_INSTANCES, [
    ["appears",                    NONE,                              vmi(),                                  REPORTED],
    ["goes",                       vmi(),                             NONE,                                   REPORTED],
    ["is deleted",                 vmi(),                             vmi({ deleting: true }),                REPORTED],
    ["has moved",                  vmi(),                             vmi({ nodeName: "node02" }),            REPORTED],
    ["is marked",                  vmi(),                             vmi({ evacuationNodeName: NODE }),      REPORTED],
    ["is unmarked",                vmi({ evacuationNodeName: NODE }), vmi(),                                  REPORTED],
    ["is no longer migratable",    vmi(),                             vmi(facts.PINNED),                      REPORTED],
    ["gets a label",               vmi(),                             vmi({ evacuationLabel: "urgent" }),     false],
    ["reports its migration",      vmi(),                             vmi({ isMigrating: true }),             false],
  ]);
});

describe("a migration", () => {
  // prettier-ignore
  changes(MIGRATIONS, [
    ["appears",                              NONE,                    migration("Pending"),    REPORTED],
    ["leaves KubeVirt's queue",              migration("Pending"),    migration("Scheduling"), REPORTED],
    ["enters another phase",                 migration("Scheduling"), migration("Running"),    false],
    ["succeeds",                             migration("Running"),    migration("Succeeded"),  REPORTED],
    ["fails",                                migration("Running"),    migration("Failed"),     REPORTED],
    ["is deleted before its end",            migration("Running"),    NONE,                    REPORTED],
    ["had ended before the relay started",   NONE,                    migration("Succeeded"),  false],
    ["is deleted after its end",             migration("Failed"),     NONE,                    false],
  ]);
});

describe("an Evacuation", () => {
  const pending = evacuation({}, { phase: "Pending" });
  const cancelled = evacuation({ intent: "Withdrawn" }, { phase: "Pending" });
  const backingOff = { phase: "BackingOff" } as const;
  const retryAt = time(0);
  const retried = evacuation({ retryAt }, backingOff);
  const followed = evacuation({ retryAt }, { phase: "Pending", observedRetryAt: retryAt });

  // prettier-ignore
  changes(EVACUATIONS, [
    ["appears",                                      NONE,         evacuation(),                              REPORTED],
    ["of a review appears",                          NONE,         evacuation({ cause: "ApiEviction" }),      false],
    ["appears withdrawn",                            NONE,         evacuation({ intent: "Withdrawn" }),       REPORTED],
    ["was in progress before the relay started",     NONE,         pending,                                   false],
    ["was withdrawn before the relay started",       NONE,         cancelled,                                 REPORTED],
    ["is reconciled by Lifeboat",                    evacuation(), pending,                                   false],
    ["enters another phase",                         pending,      evacuation({}, { phase: "Migrating" }),    false],
    ["is withdrawn",                                 pending,      cancelled,                                 REPORTED],
    ["has ended as withdrawn",                       NONE,         evacuation({ intent: "Withdrawn" }, { phase: "Withdrawn" }), false],
    ["is retried",                                   evacuation({}, backingOff), retried,                     REPORTED],
    ["is retried, and an attempt follows",           retried,      followed,                                  false],
    ["was retried long ago",                         NONE,         followed,                                  false],
  ]);
});

const asked =
  (spec: object) =>
  (generation: number, tweak: object = {}) => {
    return { metadata: { name: "kernel", uid: "uid-of-kernel", resourceVersion: "1", generation }, spec, ...tweak };
  };

function maintenanceRows(spec: object): readonly Row[] {
  const seen = asked(spec);
  // prettier-ignore
  return [
    ["appears",                NONE,    seen(1),                                    REPORTED],
    ["is changed by a person", seen(1), seen(2),                                    REPORTED],
    ["is written by Lifeboat", seen(1), seen(1, { status: { phase: "Evacuated" } }), false],
    ["is deleted",             seen(1), NONE,                                       false],
  ];
}

describe("a NodeEvacuation", () => changes(NODE_EVACUATIONS, maintenanceRows({ nodeName: NODE })));

describe("a RollingMaintenance", () => {
  changes(ROLLING_MAINTENANCES, maintenanceRows({ nodes: { names: [NODE] } }));

  test("takes no more memory if its spec is large", () => {
    const names = Array.from({ length: 1000 }, (_, at) => `node-${at}.example.com`);
    const [small, large] = [{}, { nodes: { names } }].map((spec) => ROLLING_MAINTENANCES.read(asked(spec)(1))?.facts);
    expect(large).toEqual(small);
  });
});

describe("a node", () => {
  const taints = [
    { key: "maintenance", effect: "NoExecute" },
    { key: "example.com/gpu", effect: "NoSchedule" },
  ] as const;
  const tainted = node({ taints });
  const pressured = node({ pressures: ["MemoryPressure"] });

  // prettier-ignore
  changes(NODES, [
    ["appears without a problem",    NONE,    node(),                                 false],
    ["appears, tainted",             NONE,    tainted,                                REPORTED],
    ["appears, under pressure",      NONE,    pressured,                                REPORTED],
    ["is tainted",                   node(),  tainted,                                REPORTED],
    ["has its taints reordered",     tainted, node({ taints: taints.toReversed() }),  false],
    ["comes under memory pressure",  node(),  pressured,                                REPORTED],
    ["is not ready",                 node(),  node({ ready: false }),                 REPORTED],
    ["goes",                         node(),  NONE,                                   REPORTED],
    ["is cordoned",                  node(),  node({ unschedulable: true }),          false],
  ]);
});

const POD = { name: POD_NAME, uid: POD_UID };

// prettier-ignore
test.each<[string, ReturnType<typeof noticed>, string, object]>([
  ["pods with their node",     noticed(PODS, NONE, pod({ disruptionTarget: { active: true, since: time(0) } })), "pod.disrupted", { ...POD, node: NODE }],
  ["VMIs",                     noticed(VIRTUAL_MACHINE_INSTANCES, NONE, vmi()),   "vmi.changed",        { name: "web", uid: VMI_UID }],
  ["migrations by their VMI",  noticed(MIGRATIONS, NONE, migration("Running")),   "migration.changed",  { name: "web", migration: "migration" }],
  ["Evacuations by their VMI", noticed(EVACUATIONS, NONE, evacuation()),          "evacuation.changed", { name: "web", evacuation: facts.evacuation().name }],
])("%s are reported with their data", (_, notice, type, data) => {
  expect(notice).toEqual({ type: `dev.lifeboat.${type}.v1`, data: { namespace: "apps", ...data } });
});

const event = (tweak: object = {}) => ({
  metadata: { namespace: "apps", name: `${POD_NAME}.17`, uid: "uid-of-event", resourceVersion: "1" },
  reason: "Evicted",
  involvedObject: { kind: "Pod", namespace: "apps", ...POD },
  source: { component: "kubelet", host: NODE },
  lastTimestamp: time(0),
  count: 1,
  ...tweak,
});

describe("an Event of the kubelet", () => {
  const [kind] = kubeletEvents(
    () => PODS.read(pod()),
    () => NOW,
  );
  if (kind === undefined) throw new Error("no Events are watched");

  test("that ends a launcher pod is reported", () => {
    const data = { namespace: "apps", ...POD, reason: "Evicted" };
    const type = "dev.lifeboat.pod.killing.v1";
    expect(noticed(kind, NONE, event())).toEqual({ type, data });
    expect(noticed(kind, event(), event({ count: 2 }))).toEqual({ type, data });
    expect(noticed(kind, event(), event())).toBeUndefined();
    expect(noticed(kind, event(), NONE)).toBeUndefined();
    const involvedObject = { ...POD, fieldPath: "spec.containers{compute}" };
    expect(noticed(kind, NONE, event({ involvedObject }))).toEqual({ type, data });
  });

  test.each([
    ["of another component", { source: { component: "descheduler" } }],
    ["of no component", { source: null, reportingComponent: "" }],
    ["about a sidecar", { involvedObject: { ...POD, fieldPath: "spec.initContainers{guest-console-log}" } }],
    ["about another pod", { involvedObject: { name: "web-6d4b", uid: "uid" } }],
    ["about a name that no pod has", { involvedObject: { name: `${POD_NAME}${"x".repeat(300)}`, uid: "uid" } }],
    ["about a UID that no pod has", { involvedObject: { name: POD_NAME, uid: "x".repeat(300) } }],
  ])("%s is ignored", (_, tweak) => {
    expect(kind.read(event(tweak))).toBeUndefined();
  });

  // prettier-ignore
  test.each([
    ["runs",                      pod(),                       0,     REPORTED],
    ["runs, two hours later",     pod(),                       -7200, false],
    ["is being deleted",          pod({ deleting: true }),     0,     false],
    ["was recreated",             pod({ uid: "another" }),     0,     false],
    ["is gone",                   NONE,                        0,     false],
  ] as const)("counts or not while its pod %s: $3", (_, about, seconds, expected) => {
    const killing = { pod: POD_NAME, podUid: POD_UID, reason: "Killing", count: 1, at: time(seconds) };
    expect(killingOf(killing, about && PODS.read(about), NOW) !== undefined).toBe(expected);
  });
});

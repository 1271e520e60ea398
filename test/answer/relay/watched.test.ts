/** What the relay tells the Worker, change by change. */
import { describe, expect, test } from "vitest";
import { noticeOf } from "../../../infra/relay/event.ts";
import {
  EVACUATIONS,
  MIGRATIONS,
  NODE_EVACUATIONS,
  NODES,
  PODS,
  VIRTUAL_MACHINE_INSTANCES,
  type WatchedKind,
} from "../../../infra/relay/kinds.ts";
import { killingOf, kubeletEvents } from "../../../infra/relay/kubelet-events.ts";
import {
  conditions,
  DELETING,
  disrupted,
  evacuation,
  kubeletEvent,
  LAUNCHER,
  migration,
  node,
  pod,
  TIME,
  vmi,
} from "./objects.ts";

const NONE = undefined;
const TELL = true;
const ENDED = { phase: "Succeeded" };
const ANOTHER = { uid: "another" };

/** [what happens, before, now, whether the Worker is told] */
type Row = readonly [string, object | undefined, object | undefined, boolean];

function noticed<Facts>(kind: WatchedKind<Facts>, before: object | undefined, now: object | undefined) {
  const read = (object: object | undefined) => (object === undefined ? undefined : kind.read(object));
  return noticeOf(kind, read(now), read(before))?.notice;
}

/** One test a row. */
function changes<Facts>(kind: WatchedKind<Facts>, rows: readonly Row[]): void {
  test.each(rows)("%s", (_, before, now, expected) => {
    expect(noticed(kind, before, now) !== undefined).toBe(expected);
  });
}

const status = (more: object) => vmi({ status: more });
const phase = (name: string) => migration({ status: { phase: name } });
const taint = (key: string, effect = "NoExecute") => ({ key, effect });
const is = (type: string, value: string) => node({ status: conditions({ Ready: "True", [type]: value }) });

describe("a launcher pod", () => {
  const preempted = pod({ status: disrupted() });
  const rescued = pod({ status: disrupted("", "False") });
  const later = pod({ status: disrupted("PreemptionByScheduler", "True", "2026-11-20T12:02:00Z") });
  const deleted = pod({ metadata: DELETING });
  const ended = pod({ status: ENDED });

  // prettier-ignore
  changes(PODS, [
    ["appears",                               NONE,      pod(),                                                false],
    ["appears, preempted",                    NONE,      preempted,                                            TELL],
    ["is preempted",                          pod(),     preempted,                                            TELL],
    ["stays preempted",                       preempted, pod({ status: disrupted(), metadata: { labels: {} } }), false],
    ["is no longer preempted",                preempted, rescued,                                              false],
    ["is preempted again",                    rescued,   preempted,                                            TELL],
    ["is preempted again, unseen in between", preempted, later,                                                TELL],
    ["is deleted",                            pod(),     deleted,                                              false],
    ["is deleted when it is preempted",       preempted, pod({ status: disrupted(), metadata: DELETING }),          TELL],
    ["is scheduled",                          pod({ spec: { nodeName: "" } }), pod(),                          false],
    ["is deleted when it has ended",          ended,     pod({ status: ENDED, metadata: DELETING }),           false],
    ["ends as the kubelet wants",             pod(),     pod({ status: { ...disrupted("TerminationByKubelet"), phase: "Failed" } }), false],
  ]);
});

describe("a VMI", () => {
  // prettier-ignore
  changes(VIRTUAL_MACHINE_INSTANCES, [
    ["appears",                    NONE,  vmi(),                                                                 TELL],
    ["goes",                       vmi(), NONE,                                                                  TELL],
    ["is deleted",                 vmi(), vmi({ metadata: DELETING }),                                           TELL],
    ["has moved",                  vmi(), status({ nodeName: "node02" }),                                        TELL],
    ["is marked",                  vmi(), status({ evacuationNodeName: "node01" }),                              TELL],
    ["is unmarked",                status({ evacuationNodeName: "node01" }), status({ evacuationNodeName: "" }), TELL],
    ["is no longer migratable",    vmi(), status({ conditions: [{ type: "LiveMigratable", status: "False" }] }), TELL],
    ["gets a label",               vmi(), vmi({ metadata: { labels: { "lifeboat.dev/evacuation": "urgent" } } }), false],
    ["reports its guest's OS",     vmi(), status({ guestOSInfo: { name: "Fedora" } }),                           false],
  ]);
});

describe("a migration", () => {
  // prettier-ignore
  changes(MIGRATIONS, [
    ["appears",                          NONE,               migration({ status: { phase: null } }),                 TELL],
    ["leaves KubeVirt's queue",          phase("Pending"),   phase("Scheduling"),                                    TELL],
    ["goes a step further",              phase("Scheduling"), phase("Running"),                                      false],
    ["succeeds",                         migration(),        phase("Succeeded"),                                     TELL],
    ["fails",                            migration(),        phase("Failed"),                                        TELL],
    ["goes before it is over",           migration(),        NONE,                                                   TELL],
    ["was over before the relay came",   NONE,               phase("Succeeded"),                                     false],
    ["is tidied away",                   phase("Failed"),    NONE,                                                   false],
  ]);
});

describe("an Evacuation", () => {
  const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
  const begun = evacuation({ status: { phase: "Pending" } });
  const cancelled = evacuation({ spec: { intent: "Withdrawn" }, status: { phase: "Pending" } });
  const backingOff = evacuation({ status: { phase: "BackingOff" } });
  const RETRY = "2026-11-20T12:00:00.000Z";
  const retried = evacuation({ spec: { retryAt: RETRY }, status: { phase: "BackingOff" } });
  const followed = evacuation({ spec: { retryAt: RETRY }, status: { phase: "Pending", observedRetryAt: RETRY } });

  // prettier-ignore
  changes(EVACUATIONS, [
    ["appears",                                    NONE,         evacuation(),                                      TELL],
    ["of a review appears",                        NONE,         evacuation({ spec: { cause: "ApiEviction" } }),    false],
    ["appears, cancelled",                         NONE,         withdrawn,                                         TELL],
    ["was under way before the relay came",        NONE,         begun,                                             false],
    ["was cancelled before the relay came",        NONE,         cancelled,                                         TELL],
    ["is looked at by Lifeboat",                   evacuation(), begun,                                             false],
    ["goes a step further",                        begun,        evacuation({ status: { phase: "Migrating" } }),    false],
    ["is cancelled",                               begun,        cancelled,                                         TELL],
    ["is tried again",                             backingOff,   retried,                                           TELL],
    ["is tried again, and an attempt follows",     retried,      followed,                                          false],
    ["was tried again long ago",                   NONE,         followed,                                          false],
  ]);
});

describe("a NodeEvacuation", () => {
  const metadata = { name: "kernel", uid: "uid-of-kernel", resourceVersion: "1" };
  const asked = (more: object) => ({ metadata, spec: { nodeName: "node-3", ...more } });

  // prettier-ignore
  changes(NODE_EVACUATIONS, [
    ["appears",                NONE,      asked({}),                                          TELL],
    ["is paused",              asked({}), asked({ progress: "Paused" }),                      TELL],
    ["is written by Lifeboat", asked({}), { ...asked({}), status: { phase: "Evacuating" } },  false],
    ["is deleted",             asked({}), NONE,                                               false],
  ]);
});

describe("a node", () => {
  const tainted = node({ spec: { taints: [taint("maintenance"), taint("example.com/gpu", "NoSchedule")] } });

  // prettier-ignore
  changes(NODES, [
    ["appears, well",             NONE,    node(),                                                                false],
    ["appears, tainted",          NONE,    tainted,                                                               TELL],
    ["appears, under pressure",   NONE,    is("MemoryPressure", "True"),                                          TELL],
    ["is tainted",                node(),  tainted,                                                               TELL],
    ["has its taints reordered",  tainted, node({ spec: { taints: [taint("example.com/gpu", "NoSchedule"), taint("maintenance")] } }), false],
    ["gets short of memory",      node(),  is("MemoryPressure", "True"),                                          TELL],
    ["is not ready",              node(),  is("Ready", "False"),                                                  TELL],
    ["goes",                      node(),  NONE,                                                                  TELL],
    ["sends a heartbeat",         node(),  node({ status: conditions({ Ready: "True", MemoryPressure: "False" }, "2026-11-20T12:05:00Z") }), false],
  ]);
});

// prettier-ignore
test.each<[string, ReturnType<typeof noticed>, string, object]>([
  ["pods, with their node",    noticed(PODS, NONE, pod({ status: disrupted() })),         "pod.disrupted",      { name: LAUNCHER, uid: `uid-of-${LAUNCHER}`, node: "node01" }],
  ["VMIs",                     noticed(VIRTUAL_MACHINE_INSTANCES, NONE, vmi()),           "vmi.changed",        { name: "web-1", uid: "uid-of-web-1" }],
  ["migrations, by their VMI", noticed(MIGRATIONS, NONE, migration()),                    "migration.changed",  { name: "web-1", migration: "lifeboat-web-1-1" }],
  ["Evacuations, by theirs",   noticed(EVACUATIONS, NONE, evacuation()),                  "evacuation.changed", { name: "web-1", evacuation: "web-1-by-hand" }],
])("what is told of %s", (_, notice, type, data) => {
  expect(notice).toEqual({ type: `dev.lifeboat.${type}.v1`, data: { namespace: "vms", ...data } });
});

describe("the kubelet", () => {
  const now = new Date(TIME);
  const kinds = kubeletEvents(
    () => PODS.read(pod()),
    () => now,
  );

  const [kind] = kinds;
  if (kind === undefined) throw new Error("no Events are watched");

  test("ends a launcher pod", () => {
    const data = { namespace: "vms", name: LAUNCHER, uid: `uid-of-${LAUNCHER}`, reason: "Evicted" };
    const type = "dev.lifeboat.pod.killing.v1";
    expect(noticed(kind, NONE, kubeletEvent("Evicted"))).toEqual({ type, data });
    expect(noticed(kind, kubeletEvent("Evicted"), kubeletEvent("Evicted", { count: 2 }))).toEqual({ type, data });
    expect(noticed(kind, kubeletEvent("Evicted"), kubeletEvent("Evicted"))).toBeUndefined();
    expect(noticed(kind, kubeletEvent("Evicted"), NONE)).toBeUndefined();
  });

  test.each([
    ["another component", { source: { component: "descheduler" } }],
    ["no component", { source: null, reportingComponent: "" }],
    ["the kubelet, about another pod", { involvedObject: { name: "web-6d4b", uid: "uid" } }],
  ])("is not %s", (_, tweak) => {
    expect(kind.read(kubeletEvent("Killing", tweak))).toBeUndefined();
  });

  // prettier-ignore
  test.each([
    ["runs",                        pod(),                                      TIME,                   TELL],
    ["runs, two hours later",       pod(),                                      "2026-11-20T10:00:00Z", false],
    ["is deleted",                  pod({ metadata: DELETING }),                TIME,                   false],
    ["is another of that name",     pod({ metadata: ANOTHER }),                 TIME,                   false],
    ["is gone",                     NONE,                                       TIME,                   false],
  ] as const)("counts while the pod %s: %s", (_, about, at, expected) => {
    const facts = { pod: LAUNCHER, podUid: `uid-of-${LAUNCHER}`, reason: "Killing", count: 1, at };
    expect(killingOf(facts, about && PODS.read(about), now) !== undefined).toBe(expected);
  });
});

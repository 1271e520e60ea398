/** Tests how long a target pod may stay Pending, and the order of a migration's phases. */
import { describe, expect, test } from "vitest";
import type { Pod } from "../../actors/resources.ts";
import type { VirtualMachineInstance } from "../../kubevirt/resources.ts";
import { nextPhase, patienceWith } from "../../kubevirt/virt-controller/migration-phases.ts";

const CREATED = "2026-01-01T00:00:00Z";
const metadata = { name: "one", namespace: "guests", uid: "u", resourceVersion: "1", creationTimestamp: CREATED };

function targetOf(phase: string, condition?: object, more: object = {}): Pod {
  const status = { phase, ...(condition && { conditions: [condition] }) };
  return { metadata: { ...metadata, ...more }, spec: { nodeName: "node-2", containers: [] }, status } as Pod;
}

const UNSCHEDULABLE = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
const READY = { type: "Ready", status: "True" };

describe("a target pod", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, target: Pod, seconds: number | undefined])[] = [
    ["that cannot be scheduled",   targetOf("Pending", UNSCHEDULABLE),                        300      ],
    ["that is slow to start",      targetOf("Pending"),                                       900      ],
    ["with a scheduling gate",     targetOf("Pending", { ...UNSCHEDULABLE, reason: "SchedulingGated" }), 900],
    ["that runs and is not ready", targetOf("Running"),                                       undefined],
    ["that is being deleted",      targetOf("Pending", UNSCHEDULABLE, { deletionTimestamp: CREATED }),   undefined],
  ];
  test.each(rows)("the time limit of a target pod %s is %s s (undefined: no limit)", (_, target, seconds) => {
    const left = patienceWith(target, new Date(CREATED));
    expect(left === undefined ? undefined : left / 1_000).toBe(seconds);
  });
});

describe("the next phase of a migration", () => {
  const OURS = { migrationUid: "u", targetNode: "node-2" };
  const READY_POD = targetOf("Running", READY);

  interface More {
    readonly vmi?: object;
    readonly deleted?: boolean;
    readonly backup?: object;
  }
  type Row = readonly [
    phase: string,
    target: Pod | undefined,
    state: object | undefined,
    next: string,
    more: More | undefined,
  ];
  // prettier-ignore
  const rows: readonly Row[] = [
    ["",                undefined,           undefined,                                         "Pending", undefined],
    ["Pending",         undefined,           undefined,                                         "Pending", undefined],
    ["Pending",         targetOf("Pending"), undefined,                                         "Scheduling",undefined],
    ["Pending",         READY_POD,           undefined,                                         "Pending", { backup: { backupName: "b" } }],
    ["Pending",         READY_POD,           undefined,                                         "Scheduling",{ backup: { backupName: "b", completed: true } }],
    ["Scheduling",      targetOf("Pending"), undefined,                                         "Scheduling",undefined],
    ["Scheduling",      READY_POD,           undefined,                                         "Scheduled",undefined],
    ["Scheduling",      undefined,           undefined,                                         "Failed",  undefined],
    ["Scheduled",       READY_POD,           undefined,                                         "Scheduled",undefined],
    ["Scheduled",       READY_POD,           OURS,                                              "PreparingTarget",undefined],
    ["PreparingTarget", READY_POD,           OURS,                                              "PreparingTarget",undefined],
    ["PreparingTarget", READY_POD,           { ...OURS, targetNodeAddress: "10.0.0.1" },        "TargetReady",undefined],
    ["PreparingTarget", READY_POD,           { migrationUid: "another" },                       "Failed",  undefined],
    ["TargetReady",     READY_POD,           { ...OURS, startTimestamp: CREATED },              "Running", undefined],
    ["Running",         READY_POD,           { ...OURS, endTimestamp: CREATED },                "Running", undefined],
    ["Running",         READY_POD,           { ...OURS, completed: true },                      "Succeeded",undefined],
    ["Running",         READY_POD,           { ...OURS, completed: true, failed: true },        "Failed",  undefined],
    ["Running",         targetOf("Failed"),  OURS,                                              "Failed",  undefined],
    ["Running",         READY_POD,           OURS,                                              "Failed",  { vmi: { phase: "Succeeded" } }],
    ["Pending",         undefined,           undefined,                                         "Failed",  { deleted: true }],
    ["Running",         READY_POD,           OURS,                                              "Running", { deleted: true }],
  ];
  test.each(rows)("after %s, case %#", (...[phase, target, migrationState, next, more = {}]) => {
    const { vmi: vmiStatus, deleted = false, backup } = more;
    const changedBlockTracking = backup && { changedBlockTracking: { state: "Enabled", backupStatus: backup } };
    const vmi: VirtualMachineInstance = {
      metadata,
      spec: { domain: {} },
      status: { phase: "Running", ...(migrationState && { migrationState }), ...changedBlockTracking, ...vmiStatus },
    };
    const migration = {
      metadata: { ...metadata, ...(deleted && { deletionTimestamp: CREATED }) },
      spec: { vmiName: "one" },
      status: { phase },
    };
    expect(nextPhase({ migration, vmi, target })).toBe(next);
  });
});

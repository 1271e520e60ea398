/** VMs whose owner moves them: what its migrations come to, and that no other VM is marked that cannot migrate. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/kube/action.ts";
import { CAUSES, type EvacuationFacts } from "../../shared/kube/evacuation.ts";
import { decideDeletion } from "../../shared/guard/decide.ts";
import { GUARD_CAUSES } from "../../shared/settings/guarded.ts";
import type { EvictionFacts } from "../../shared/eviction/decide.ts";
import type { MigrationFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { planPressure } from "../../shared/pressure/pressure.ts";
import { decided } from "./eviction/evictions.ts";
import { askedFor, deletion, plannedDisruptions, target } from "./guard/disruptions.ts";
import { PRESSED, pressureWorld, resident } from "./pressure/pressed.ts";
import {
  at,
  evacuation,
  EXTERNAL,
  marked,
  migration,
  newborn,
  node,
  only,
  PINNED,
  settings,
  verbs,
  vmi,
} from "./fixtures.ts";
import { course, planned, statusAfter } from "./worlds.ts";

const WAITS = "eviction strategy External: the VM's owner has to move it";
/** As Cluster API's provider names it; its age is later than the mark's. */
const owners = migration({ name: "web-migration-x7k2p", createdAt: at(-9).getTime() });
const failed = { ...owners, phase: "Failed", failureReason: "the guest is too busy" };
const again = { ...owners, name: "web-migration-second", uid: "second", createdAt: at(-1).getTime() };
const impatient = settings({ evacuation: { adoptSeconds: 0, maxAttempts: 1 } });

function evicted(tweak: Partial<EvictionFacts>): string {
  const decision = decided({ vmi: marked(EXTERNAL), ...tweak });
  return decision.verdict === "Deny" ? decision.message : decision.verdict;
}

describe("its owner", () => {
  // prettier-ignore
  const rows: readonly (readonly [string, readonly MigrationFacts[], phase: string, message: string])[] = [
    ["has done nothing",               [],                                  "WaitingForOwner", WAITS],
    ["has created a migration",        [{ ...owners, phase: "" }],          "Migrating",       "migration web-migration-x7k2p waits in KubeVirt's queue"],
    ["… it waits",                     [{ ...owners, phase: "Pending" }],   "Migrating",       "migration web-migration-x7k2p waits in KubeVirt's queue"],
    ["… is over quota: the owner's trouble", [{ ...owners, phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } }], "Migrating", "migration web-migration-x7k2p waits in KubeVirt's queue"],
    ["… it runs",                      [owners],                            "Migrating",       "migration web-migration-x7k2p moves the VM"],
    ["… it has failed",                [failed],                            "WaitingForOwner", `${WAITS}; migration web-migration-x7k2p has failed: the guest is too busy`],
    ["… and it tries again",           [failed, again],                     "Migrating",       "migration web-migration-second moves the VM"],
    ["… one had failed before",        [{ ...failed, createdAt: at(-999).getTime() }], "WaitingForOwner", WAITS],
  ];

  test.each(rows)("%s: the status", (_, migrations, phase, message) => {
    const given = { vmis: [marked(EXTERNAL)], migrations, settings: impatient };
    expect(statusAfter(evacuation(), given)).toMatchObject({ phase, message, attempts: 0 });
    // Neither a second migration nor an end, however often it fails.
    const actions = verbs(planned(evacuation(), given));
    expect(actions.filter((verb) => /Migration$|Unmark|Count/.test(verb) && verb !== "AdoptMigration")).toEqual([]);
  });

  test.each(rows)("%s: the answer", (_, migrations, __, message) => {
    const seen = evacuation({ status: statusAfter(evacuation(), { vmis: [marked(EXTERNAL)], migrations }) });
    expect(evicted({ evacuations: [seen] })).toBe(
      `Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"; ${message}`,
    );
  });

  test("the answer before the first look, and that about any other VM", () => {
    const plain = 'Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"';
    expect(evicted({ evacuations: [newborn()] })).toBe(`${plain}; ${WAITS}`);
    expect(evicted({ vmi: marked(), evacuations: [evacuation()] })).toBe(plain);
  });

  test("what it has begun is left to it when the evacuation is withdrawn", () => {
    const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
    const given = { vmis: [marked(EXTERNAL)], migrations: [{ ...owners, phase: "Pending" }] };
    expect(course(withdrawn, given)).toBe("Withdrawn IntentWithdrawn, tell; Unmark, Released");
  });
});

const pinnedAs = (evictionStrategy: string) => vmi({ evictionStrategy, ...PINNED });
const DRAIN_TAINT = { key: "kubevirt.io/drain", effect: "NoSchedule" };

function deletedFor(own: VmiFacts): readonly Action[] {
  return GUARD_CAUSES.flatMap((cause) => {
    const decision = decideDeletion(deletion({ ...askedFor(cause), vmi: own }));
    return decision.verdict === "Refuse" ? decision.actions : [];
  });
}

function evictedActions(own: VmiFacts): readonly Action[] {
  return decided({ vmi: own }).actions;
}

function pressed(own: VmiFacts): readonly Action[] {
  const { vmi: plain, pod: launcher } = resident("web");
  const same = {
    vmi: { ...plain, ...own, name: plain.name, uid: plain.uid, activePods: plain.activePods },
    pod: launcher,
  };
  const signals = [{ ...same, by: "test" }];
  const pressured = [{ node: PRESSED, residents: [same], evacuations: [] }];
  return planPressure(pressureWorld([same], { signals, pressured })).chains.flat();
}

/** Of whatever cause, and however it has begun. */
function carriedOn(own: VmiFacts): readonly Action[] {
  const subjects: readonly EvacuationFacts[] = CAUSES.map((cause) => newborn({ spec: { cause } }));
  return subjects.flatMap((subject) => planned(subject, { vmis: [own], nodes: [node({ taints: [DRAIN_TAINT] })] }));
}

// prettier-ignore
const WAYS: readonly (readonly [string, (own: VmiFacts) => readonly Action[]])[] = [
  ["an eviction",                        evictedActions],
  ["a deletion that does not ask",       deletedFor],
  ["a pod that is terminating",          (own) => plannedDisruptions({ vmis: [own], pods: [target("Preemption", 0, { deleting: true })] })],
  ["node pressure",                      pressed],
  ["an Evacuation",                      carriedOn],
];

describe.each(WAYS)("a VM that cannot migrate, %s", (way, actionsFor) => {
  test.each(["None", "LiveMigrate", "LiveMigrateIfPossible", "Odd"])("%s: it is not marked", (strategy) => {
    expect(only("Mark", actionsFor(pinnedAs(strategy)))).toEqual([]);
  });

  test("External: it is, for its owner", () => {
    // Of an eviction by KubeVirt's webhook, which reviews it as well.
    const verb = way === "an eviction" ? "CreateEvacuation" : "Mark";
    expect(only(verb, actionsFor(pinnedAs("External"))).length).toBeGreaterThan(0);
  });
});

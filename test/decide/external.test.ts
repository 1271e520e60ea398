/** VMs whose owner moves them: what becomes of their migrations. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../shared/eviction/decide.ts";
import type { MigrationFacts } from "../../shared/kube/facts.ts";
import { decided } from "./eviction/evictions.ts";
import { at, evacuation, EXTERNAL, marked, migration, settings, verbs } from "../support/fixtures.ts";
import { course, planned, statusAfter } from "../support/worlds.ts";

const WAITS = "eviction strategy External: its external controller has to move it";
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
    ["has done nothing",               [],                                  "WaitingForExternalController", WAITS],
    ["has created a migration",        [{ ...owners, phase: "" }],          "Migrating",       "KubeVirt has not created the target pod of migration web-migration-x7k2p yet"],
    ["… is over quota: the owner's trouble", [{ ...owners, phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } }], "Migrating", "a resource quota refuses the target pod of migration web-migration-x7k2p (migrationRejectedByResourceQuota)"],
    ["… it has failed",                [failed],                            "WaitingForExternalController", `${WAITS}; migration web-migration-x7k2p has failed: the guest is too busy`],
    ["… and it tries again",           [failed, again],                     "Migrating",       "migration web-migration-second moves the VM"],
  ];

  test.each(rows)("%s: the status", (_, migrations, phase, message) => {
    const given = { vmis: [marked(EXTERNAL)], migrations, settings: impatient };
    expect(statusAfter(evacuation(), given)).toMatchObject({ phase, message, attempts: 0 });
    // Neither a second migration nor an end, however often it fails.
    const actions = verbs(planned(evacuation(), given));
    expect(actions.filter((verb) => /Migration$|Unmark|Count/.test(verb))).toEqual([]);
  });

  test.each(rows)("%s: the answer", (_, migrations, __, message) => {
    const seen = evacuation({ status: statusAfter(evacuation(), { vmis: [marked(EXTERNAL)], migrations }) });
    expect(evicted({ evacuations: [seen] })).toBe(
      `Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"; ${message}`,
    );
  });

  test("what it has begun is left to it when the evacuation is withdrawn", () => {
    const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
    const given = { vmis: [marked(EXTERNAL)], migrations: [{ ...owners, phase: "Pending" }] };
    expect(course(withdrawn, given)).toBe("Withdrawn IntentWithdrawn, tell; Unmark, Released");
  });
});

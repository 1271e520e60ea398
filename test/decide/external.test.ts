/** Tests VMs with the eviction strategy External. Their owner creates the migrations. */
import { describe, expect, test } from "vitest";
import type { EvictionFacts } from "../../shared/eviction/decide.ts";
import type { MigrationFacts } from "../../shared/kube/facts.ts";
import { decided } from "./eviction/evictions.ts";
import { at, evacuation, EXTERNAL, marked, migration, settings, verbs } from "../support/fixtures.ts";
import { course, planned, statusAfter } from "../support/worlds.ts";

const WAITS = "eviction strategy External: the VM's external controller has to move the VM";
/** A migration that the VM's owner created. Cluster API's provider uses names of this form. */
const owners = migration({ name: "web-migration-x7k2p", createdAt: at(-9).getTime() });
const failed = { ...owners, phase: "Failed", failureReason: "the guest is too busy" };
const again = { ...owners, name: "web-migration-second", uid: "second", createdAt: at(-1).getTime() };
const impatient = settings({ evacuation: { adoptSeconds: 0, maxAttempts: 1 } });

function evicted(tweak: Partial<EvictionFacts>): string {
  const decision = decided({ vmi: marked(EXTERNAL), ...tweak });
  return decision.verdict === "Deny" ? decision.message : decision.verdict;
}

describe("the owner of an External VM", () => {
  // prettier-ignore
  const rows: readonly (readonly [string, readonly MigrationFacts[], phase: string, message: string])[] = [
    ["has not acted",               [],                                  "WaitingForExternalController", WAITS],
    ["has created a migration",        [{ ...owners, phase: "" }],          "Migrating",       "KubeVirt has not created the target pod of migration web-migration-x7k2p yet"],
    ["has created a migration that exceeds a quota", [{ ...owners, phase: "Pending", blockedBy: { type: "migrationRejectedByResourceQuota" } }], "Migrating", "a resource quota refuses the target pod of migration web-migration-x7k2p (migrationRejectedByResourceQuota)"],
    ["has created a migration that failed",                [failed],                            "WaitingForExternalController", `${WAITS}; migration web-migration-x7k2p has failed: the guest is too busy`],
    ["has created a second migration",           [failed, again],                     "Migrating",       "migration web-migration-second moves the VM"],
  ];

  test.each(rows)("%s: the Evacuation's status", (_, migrations, phase, message) => {
    const given = { vmis: [marked(EXTERNAL)], migrations, settings: impatient };
    expect(statusAfter(evacuation(), given)).toMatchObject({ phase, message, attempts: 0 });
    // Lifeboat neither creates a migration nor ends the Evacuation.
    const actions = verbs(planned(evacuation(), given));
    expect(actions.filter((verb) => /Migration$|Unmark|Count/.test(verb))).toEqual([]);
  });

  test.each(rows)("%s: the answer to an eviction", (_, migrations, __, message) => {
    const seen = evacuation({ status: statusAfter(evacuation(), { vmis: [marked(EXTERNAL)], migrations }) });
    expect(evicted({ evacuations: [seen] })).toBe(
      `Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"; ${message}`,
    );
  });

  test("keeps the migration when the evacuation is withdrawn", () => {
    const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
    const given = { vmis: [marked(EXTERNAL)], migrations: [{ ...owners, phase: "Pending" }] };
    expect(course(withdrawn, given)).toBe("Withdrawn IntentWithdrawn, Event; Unmark, Released");
  });
});

/** Evacuations of VMs that a migration moves already: to or from another namespace or cluster, for a workload update, of volumes. */
import { expect, test } from "vitest";
import type { EvacuationWorld } from "../../../shared/evacuation/world.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, evacuation, marked, migration, vmi } from "../../support/fixtures.ts";
import { course } from "../../support/worlds.ts";

const withdrawn = evacuation({ spec: { intent: "Withdrawn" } });
const byHand = evacuation({ spec: { cause: "Operator" }, status: { conditions: [] } });
const sent = migration({ phase: "Synchronizing", decentralized: "Sends" });
const unreachable = { ...sent, blockedBy: { type: "decentralizedMigrationBlocked", message: "connection refused" } };
const arrived = { ...sent, phase: "Succeeded", cause: "ApiEviction", targetNode: "node-of-another-cluster" };
const received = migration({ decentralized: "Receives" });

const CREATED = "CreateMigration, Pending Pending, tell";
const MOVED = "Moved Moved, tell";

// prettier-ignore
test.each<readonly [what: string, EvacuationFacts, Partial<EvacuationWorld>, expected: string]>([
  // It comes from another namespace or cluster, or goes there
  ["sent: the other end is waited for",        evacuation(), { migrations: [sent] },                                    "Migrating Synchronizing"],
  ["… it runs",                                evacuation(), { migrations: [{ ...sent, phase: "Running" }] },           "Migrating Running"],
  ["… the other end cannot be reached",        evacuation(), { migrations: [unreachable] },                             "Blocked DecentralizedMigration, tell"],
  ["… for however long: not ours to delete",   evacuation(), { migrations: [{ ...unreachable, createdAt: at(-9999).getTime() }] }, "Blocked DecentralizedMigration, tell"],
  ["… given up: no attempt of ours",           evacuation(), { migrations: [{ ...sent, phase: "Failed" }] },            CREATED],
  ["… there, and the VMI lags",                evacuation(), { migrations: [arrived] },                                 "Migrating Succeeded"],
  ["… there, and its pod is not listed any more", evacuation(), { vmis: [marked({ activePods: {} })], migrations: [arrived] }, "Migrating Succeeded"],
  ["… there",                                  evacuation(), { vmis: [marked({ phase: "Succeeded" })], migrations: [arrived] }, MOVED],
  ["… there, and its VMI is being deleted",    evacuation(), { vmis: [marked({ deleting: true })], migrations: [arrived] }, MOVED],
  ["… and withdrawn",                          withdrawn,    { migrations: [sent] },                                    "Withdrawn IntentWithdrawn, tell; Unmark, Released"],
  ["received: not there yet",                  byHand,       { vmis: [vmi({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, tell"],
  ["… marked by KubeVirt: no Evacuation yet",  byHand,       { vmis: [marked({ phase: "Scheduled", decentralized: "Receives" })] }, "Blocked BeingReceived, tell"],
  ["… just come, and that migration goes on",  evacuation(), { migrations: [received] },                                "Blocked BeingReceived, tell"],
  ["… has ended: that was no way out",         evacuation(), { migrations: [{ ...received, phase: "Succeeded" }] },     CREATED],
  ["… has failed",                             evacuation(), { migrations: [{ ...received, phase: "Failed" }] },        CREATED],
])("%s", (_, subject, tweak, expected) => expect(course(subject, tweak)).toBe(expected));

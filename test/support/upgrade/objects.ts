/** Lists objects in every phase of version 0.3, and the phase that the current version gives each object. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { wholeSeconds } from "../../../shared/settings/time.ts";
import { Manifest } from "../../../infra/cli/install/manifests.ts";

export function kindsOf03(): readonly Manifest[] {
  return ["evacuations", "nodeevacuations", "lifeboatconfigurations"].map((name) => Manifest.parse(load(textOf(name))));
}

function textOf(name: string): string {
  return readFileSync(new URL(`0.3/${name}.yaml`, import.meta.url), "utf8");
}

/** A recent time, because Lifeboat deletes objects that finished long ago. */
export const BEFORE = wholeSeconds(new Date(Date.now() - 600_000));
const condition = (type: string, status: "True" | "False", reason: string) => {
  return { type, status, reason, message: "", lastTransitionTime: BEFORE };
};
const MARKED = [condition("Marked", "True", "Marked")];

/** A VM on its own node, and the VM's Evacuation. */
export interface Leaving {
  readonly name: string;
  readonly spec?: object;
  /** True if the VMI has an evacuationNodeName and its migration waits in KubeVirt's queue. */
  readonly isMarked?: boolean;
  /** Properties of the VM. By default, the VM can migrate. */
  readonly vm?: { readonly evictionStrategy?: string; readonly migratable?: false; readonly reason?: string };
  /** Undefined if Lifeboat has not handled the Evacuation yet. */
  readonly status?: { readonly phase: string; readonly [field: string]: unknown };
  readonly becomes: string;
}

const PINNED = { evictionStrategy: "LiveMigrate", migratable: false, reason: "InterfaceNotLiveMigratable" } as const;
const BY_EVICTION = { cause: "ApiEviction", requestedBy: "drain" };
const GONE = { completionTime: BEFORE, reason: "x" };

// prettier-ignore
export const EVACUATIONS: readonly Leaving[] = [
  { name: "e-new",          becomes: "Moved" },
  { name: "e-pending",      becomes: "Moved",                         isMarked: true, status: { phase: "Pending", conditions: MARKED }, spec: BY_EVICTION },
  { name: "e-migrating",    becomes: "Moved",                         isMarked: true, status: { phase: "Migrating", conditions: MARKED } },
  { name: "e-backing-off",  becomes: "Moved",                         isMarked: true, status: { phase: "BackingOff", attempts: 1, nextAttemptTime: BEFORE, conditions: MARKED } },
  { name: "e-external",     becomes: "WaitingForExternalController",  isMarked: true, status: { phase: "WaitingForExternalController", conditions: MARKED }, vm: { evictionStrategy: "External" } },
  { name: "e-blocked",      becomes: "Blocked",                       isMarked: true, status: { phase: "Blocked", reason: "NotMigratable", conditions: MARKED }, vm: PINNED },
  { name: "e-of-a-request", becomes: "Moved",                         isMarked: true, status: { phase: "Pending", conditions: MARKED }, spec: { cause: "EvictionRequest", requestedBy: "EvictionRequest web" } },
  { name: "e-moved",        becomes: "Moved",      status: { phase: "Moved", targetNode: "gone", ...GONE } },
  { name: "e-abandoned",    becomes: "Abandoned",  status: { phase: "Abandoned", attempts: 5, ...GONE } },
  { name: "e-withdrawn",    becomes: "Withdrawn",  status: { phase: "Withdrawn", ...GONE }, spec: { intent: "Withdrawn" } },
  { name: "e-duplicate",    becomes: "Duplicate",  status: { phase: "Duplicate", ...GONE } },
  { name: "e-gone",         becomes: "Gone",       status: { phase: "Gone", ...GONE } },
];

export interface Draining {
  readonly name: string;
  readonly spec?: object;
  readonly status?: { readonly phase: string; readonly [field: string]: unknown };
  readonly isCordoned?: boolean;
  /** Undefined if the node has no VMs. */
  readonly here?: "Movable" | "Pinned";
  /** The phases of the NodeEvacuation's Evacuations. */
  readonly own?: readonly ("Moved" | "Restarted" | "Restarting" | "Stopping" | "Stopped")[];
  readonly becomes: string;
  /** The name and the outcome of each VM, sorted by name. */
  readonly outcomes?: readonly string[];
}

const counts = { total: 2, left: 1, moving: 0, waiting: 1, blocked: 0, restarted: 0, stopped: 0 };
const STARTED = { startTime: BEFORE, verdict: "WillSucceed", virtualMachines: counts };
const ENDED = { ...STARTED, completionTime: BEFORE, message: "it ended" };
const PAUSED = { progress: "Paused" };
const LATER = { schedule: { notBefore: "2099-01-01T00:00:00Z" } };
const RESTART = { virtualMachines: { whenBlocked: "Restart" } };
const STOP = { virtualMachines: { whenBlocked: "ShutDown" } };

// prettier-ignore
export const NODE_EVACUATIONS: readonly Draining[] = [
  { name: "n-new",        becomes: "Evacuated",  here: "Movable", outcomes: ["n-new-vm Moved"] },
  { name: "n-scheduled",  becomes: "Scheduled",  spec: LATER, status: { phase: "Scheduled", message: "starts later" }, here: "Movable" },
  { name: "n-chained",    becomes: "Refused",    spec: { schedule: { after: "n-blocked" } }, status: { phase: "Scheduled", message: "waits for n-blocked" }, here: "Movable" },
  { name: "n-evacuating", becomes: "Evacuated",  status: { phase: "Evacuating", ...STARTED }, isCordoned: true, here: "Movable", own: ["Moved", "Restarted"], outcomes: ["n-evacuating-moved Moved", "n-evacuating-restarted Restarted", "n-evacuating-vm Moved"] },
  { name: "n-restarting", becomes: "Evacuated",  spec: RESTART, status: { phase: "Evacuating", ...STARTED }, isCordoned: true, own: ["Restarting"], outcomes: ["n-restarting-restarting Restarted"] },
  { name: "n-stopping",   becomes: "Evacuated",  spec: STOP, status: { phase: "Evacuating", ...STARTED }, isCordoned: true, own: ["Stopping"], outcomes: ["n-stopping-stopping Stopped"] },
  { name: "n-paused",     becomes: "Paused",     spec: PAUSED, status: { phase: "Paused", ...STARTED }, isCordoned: true, here: "Movable" },
  { name: "n-blocked",    becomes: "Blocked",    status: { phase: "Blocked", ...STARTED }, isCordoned: true, here: "Pinned" },
  { name: "n-evacuated",  becomes: "Evacuated",  status: { phase: "Evacuated", ...ENDED }, own: ["Stopped"] },
  { name: "n-refused",    becomes: "Refused",    status: { phase: "Refused", completionTime: BEFORE }, here: "Movable" },
  { name: "n-expired",    becomes: "Expired",    status: { phase: "Expired", ...ENDED }, here: "Movable" },
  { name: "n-withdrawn",  becomes: "Withdrawn",  spec: { intent: "Withdrawn" }, status: { phase: "Withdrawn", ...ENDED }, here: "Movable" },
  { name: "n-gone",       becomes: "Gone",       status: { phase: "Gone", ...ENDED } },
];

/** The condition Released of a finished Evacuation. Version 0.3 wrote it for a stopped VM as soon as the VM was off. */
export const RELEASED = [condition("Released", "True", "Released")];

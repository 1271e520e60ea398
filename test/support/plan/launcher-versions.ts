/** Creates a cluster with VMs on two launcher versions, and migrations between the versions: `fleet([moved])`. */
import { evidenceOf } from "../../../shared/plan/evidence.ts";
import type { PlanFacts, PlanMigration, PlanPod } from "../../../shared/plan/facts.ts";
import { migration, NOW } from "../fixtures.ts";
import { cluster, type Resident, vm } from "./clusters.ts";

export const OLD = "virt-launcher:v1.8.0";
export const at = (minutes: number) => NOW.getTime() - minutes * 60_000;

export const old = (name: string, tweak: Parameters<typeof vm>[2] = {}): Resident =>
  vm(name, 2, { ...tweak, pod: { image: OLD, createdAt: at(9000), ...tweak.pod } });

export const attempt = (name: string, minutesAgo: number, tweak: Partial<PlanMigration>): PlanMigration => ({
  ...migration({ name: `m-${name}-${minutesAgo}`, uid: `m-${name}-${minutesAgo}`, vmiName: name, phase: "Succeeded" }),
  createdAt: at(minutesAgo),
  sourceNode: "node01",
  targetNode: "node02",
  ...tweak,
});

/** Returns the pod in which the VM ran before its last migration. */
export const source = (name: string): PlanPod => ({
  ...old(name).pod,
  name: `source-${name}`,
  uid: `source-${name}`,
  nodeName: "node01",
  phase: "Succeeded",
});

export const moved = attempt("moved", 60, { sourcePod: "source-moved", targetPod: "virt-launcher-moved-x7k2p" });
export const failed = (name: string, minutesAgo: number) =>
  attempt(name, minutesAgo, { phase: "Failed", failureReason: "guest CPU doesn't match specification" });

/**
 * Returns a cluster with one VM that has migrated from the old launcher version, and two VMs that have not migrated.
 */
export function fleet(migrations: readonly PlanMigration[], more: readonly Resident[] = []): PlanFacts {
  const f = cluster({ node01: [old("a"), old("b"), ...more], node02: [vm("moved")], node03: [] }, { migrations });
  return { ...f, pods: [...f.pods, source("moved")] };
}

export const proofs = (f: PlanFacts) =>
  evidenceOf(f).classes.map(({ launcher, vms, proof, canary }) => [launcher, vms.join(" "), proof, canary]);

export const unplaced = (name: string, minutesAgo: number, tweak: Partial<PlanMigration> = {}) => {
  const { targetNode: _, failureReason: __, ...rest } = failed(name, minutesAgo);
  const since = rest.createdAt + 1000;
  return { ...rest, schedulingSince: since, failedAt: since + 5 * 60_000, ...tweak };
};

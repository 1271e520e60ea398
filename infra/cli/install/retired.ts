/** What an older version has put into a cluster and this one does not need: `install` and `upgrade` delete it, and so does `uninstall`. */
import type { Applying } from "./install.ts";
import { type Manifest, nameOf } from "./manifests.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const OWN = { namespace: "lifeboat-system", name: "lifeboat" };

export const RETIRED: readonly Manifest[] = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { ...OWN, name: "lifeboat-counters" } },
  { apiVersion: RBAC, kind: "RoleBinding", metadata: OWN },
  { apiVersion: RBAC, kind: "Role", metadata: OWN },
  { apiVersion: "migrations.kubevirt.io/v1alpha1", kind: "MigrationPolicy", metadata: { name: "lifeboat-firm" } },
];

export async function removeRetired({ applier, host, dryRun }: Applying): Promise<void> {
  for (const manifest of RETIRED) {
    if ((await applier.read(manifest)) === undefined) continue;
    if (!dryRun) await applier.remove(manifest);
    host.stdout.write(`${nameOf(manifest)} deleted${dryRun ? " (dry run)" : ""}\n`);
  }
}

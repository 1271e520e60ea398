/** What an older version has put into a cluster and this one does not need: `install` deletes it, and so does `uninstall`. */
import { type Applying, readObject, removeObject } from "./apply.ts";
import { type Manifest, nameOf } from "./manifests.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const OWN = { namespace: "lifeboat-system", name: "lifeboat" };

/** The binding first. */
function role(kind: "Role" | "ClusterRole", metadata: Manifest["metadata"]): readonly Manifest[] {
  return [`${kind}Binding`, kind].map((one) => ({ apiVersion: RBAC, kind: one, metadata }));
}

export function retired(kubevirtNamespace: string): readonly Manifest[] {
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { ...OWN, name: "lifeboat-counters" } },
    ...role("Role", OWN),
    { apiVersion: "migrations.kubevirt.io/v1alpha1", kind: "MigrationPolicy", metadata: { name: "lifeboat-firm" } },
    ...["lifeboat-impersonation", "lifeboat-constrained-impersonation"].flatMap((name) =>
      role("Role", { namespace: kubevirtNamespace, name }),
    ),
    ...["lifeboat-constrained-impersonation", "lifeboat-marking"].flatMap((name) => role("ClusterRole", { name })),
  ];
}

export async function removeRetired(kubevirtNamespace: string, { send, host, dryRun }: Applying): Promise<void> {
  for (const manifest of retired(kubevirtNamespace)) {
    if ((await readObject(manifest, send())) === undefined) continue;
    if (!dryRun) await removeObject(manifest, send());
    host.stdout.write(`${nameOf(manifest)} deleted${dryRun ? " (dry run)" : ""}\n`);
  }
}

/** Checks Lifeboat's permissions: asks the API server for each permission that the settings need. */
import { featuresOn } from "../../../shared/features.ts";
import type { Feature } from "../../../shared/settings/feature.ts";
import { failed, type Finding, ok } from "../../../shared/settings/finding.ts";
import { readable } from "./check.ts";
import { isInCluster, type Permission, type DoctorReads, settingsOf } from "./reads.ts";

/** Returns one finding for each manifest that grants permissions. */
export async function permissions(reads: DoctorReads): Promise<readonly Finding[]> {
  const server = (await isInCluster(reads)) ? ["server/kubernetes/component/rbac.yaml"] : [];
  const relay = (await readable(reads.relay)) === undefined ? [] : ["relay/kubernetes/rbac.yaml"];
  const granting = featuresOn(await settingsOf(reads)).filter(({ permissions }) => permissions !== undefined);
  const files = ["kubernetes/rbac.yaml", ...granting.map(grantsOf), ...server, ...relay];
  return await Promise.all(files.map((file) => permissionsOf(file, reads)));
}

/** Returns the path of the manifest with a feature's permissions. */
export function grantsOf({ name }: Feature): string {
  return `kubernetes/optional/${name}/${name}.yaml`;
}

export async function permissionsOf(file: string, reads: DoctorReads): Promise<Finding> {
  const missing = (await reads.granted()).filter((one) => !one.allowed && one.file === file);
  return lacking(file, missing);
}

export const RELAY_INSTALL =
  "kubectl apply -k SITE (SITE is your kustomization that includes infra/relay/kubernetes: see infra/relay/README.md)";

const LONGEST = 8;

function lacking(file: string, missing: readonly Permission[]): Finding {
  const name = file.replace(/^kubernetes\//, "");
  if (missing.length === 0) return ok(`the permissions of ${name} are granted`);
  const count = `${missing.length} permission${missing.length === 1 ? "" : "s"}`;
  const reasons = missing.slice(0, LONGEST).map(({ verb, group, resource, name: one, namespace, without }) => {
    const what = [group, resource, one].filter(Boolean).join("/");
    return `${verb} ${what}${namespace === "" ? "" : ` in namespace ${namespace}`}: ${without}`;
  });
  if (missing.length > LONGEST) reasons.push(`and ${missing.length - LONGEST} more`);
  const [, part] = /optional\/([^/]+)/.exec(file) ?? [];
  const install = `lifeboat install${part === undefined ? "" : ` --with ${part}`}`;
  return failed(`Lifeboat lacks ${count} of ${name}`, reasons, file.startsWith("relay/") ? RELAY_INSTALL : install);
}

/** The check of Lifeboat's permissions: of each part that the settings need, as the API server says what its accounts may. */
import { GUARD_CAUSES, isGateOn } from "../../../shared/settings/guarded.ts";
import { isShieldWanted, type Settings } from "../../../shared/settings/settings.ts";
import { failed, type Finding, ok, readable } from "./check.ts";
import { isInCluster, type Permission, type Reads, settingsOf } from "./reads.ts";

/** By the part that grants them. */
export async function permissions(reads: Reads): Promise<readonly Finding[]> {
  const missing = (await reads.granted()).filter(({ allowed }) => !allowed);
  const server = (await isInCluster(reads)) ? ["server/kubernetes/component/rbac.yaml"] : [];
  const relay = (await readable(reads.relay)) === undefined ? [] : ["relay/kubernetes/rbac.yaml"];
  const files = [...filesNeeded(await settingsOf(reads)), ...server, ...relay];
  return files.map((file) =>
    lacking(
      file,
      missing.filter((one) => one.file === file),
    ),
  );
}

export function filesNeeded(settings: Settings): readonly string[] {
  const optional = [
    ["guard", GUARD_CAUSES.some((cause) => isGateOn(cause, settings))],
    ["descheduler-support", settings.featureGates.includes("DeschedulerSupport")],
    ["descheduling", settings.featureGates.includes("EvictionsInBackground")],
    ["shield", isShieldWanted(settings)],
  ] as const;
  const needed = optional.flatMap(([name, isNeeded]) => (isNeeded ? [`kubernetes/optional/${name}/${name}.yaml`] : []));
  return ["kubernetes/rbac.yaml", ...needed];
}

export const RELAY_INSTALL =
  "kubectl apply -k SITE, your kustomization with infra/relay/kubernetes: see infra/relay/README.md";

const LONGEST = 8;

export function lacking(file: string, missing: readonly Permission[]): Finding {
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

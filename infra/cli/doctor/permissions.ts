/** What Lifeboat's accounts may do, by the shipped file that grants it, and what stops without it. */
import { isAnnotating } from "../../../shared/policy/annotations/descheduler-annotations.ts";
import { GUARD_CAUSES, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { isShieldWanted } from "../../../shared/policy/shield/shield.ts";
import { type Check, failed, type Finding, ok, readable } from "./check.ts";
import { isInCluster, type Permission, settingsOf } from "./reads.ts";

export const permissions: Check = {
  group: "Lifeboat",
  about: "the permissions of Lifeboat's account",
  find: async (reads) => {
    const answers = await reads.granted();
    const server = (await isInCluster(reads)) ? ["server/kubernetes/component/rbac.yaml"] : [];
    const relay = (await readable(reads.relay)) === undefined ? [] : ["relay/kubernetes/rbac.yaml"];
    const files = [...filesNeeded(await settingsOf(reads)), ...server, ...relay];
    return files.map((file) => {
      return judge(
        file,
        answers.filter((one) => one.file === file && !one.allowed),
      );
    });
  },
};

export function filesNeeded(settings: Settings): readonly string[] {
  const optional = [
    ["guard", GUARD_CAUSES.some((cause) => isGateOn(cause, settings))],
    ["descheduler-support", isAnnotating(settings)],
    ["descheduling", settings.featureGates.includes("EvictionsInBackground")],
    ["shield", isShieldWanted(settings)],
  ] as const;
  const needed = optional.flatMap(([name, isNeeded]) => (isNeeded ? [`kubernetes/optional/${name}/${name}.yaml`] : []));
  return ["kubernetes/rbac.yaml", ...needed];
}

const LONGEST = 8;

function judge(file: string, missing: readonly Permission[]): Finding {
  const name = file.replace(/^kubernetes\//, "");
  if (missing.length === 0) return ok(`the permissions of ${name} are granted`);
  const count = `${missing.length} permission${missing.length === 1 ? "" : "s"}`;
  const reasons = missing.slice(0, LONGEST).map((one) => `${textOf(one)}: ${one.without}`);
  if (missing.length > LONGEST) reasons.push(`and ${missing.length - LONGEST} more`);
  return failed(`Lifeboat lacks ${count} of ${name}`, reasons, `kubectl apply -f infra/${file}`);
}

function textOf({ verb, group, resource, name, namespace }: Permission): string {
  const what = [group, resource, name].filter(Boolean).join("/");
  return `${verb} ${what}${namespace === "" ? "" : ` in namespace ${namespace}`}`;
}

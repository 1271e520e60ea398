/** The API server: whether it answers, its version, and whether the reader may see what is to be examined. */
import { isOld, OLDEST } from "../../../shared/policy/versions.ts";
import { failed, type Finding, judged, ok, type Read, warning } from "./check.ts";
import type { Facts, VersionFacts } from "./facts.ts";
import { permissionText } from "./permissions.ts";

const UPGRADE = "https://kubernetes.io/docs/tasks/administer-cluster/cluster-upgrade/";

export function judgeKubernetes({ version, own, context, server }: Facts): readonly Finding[] {
  return [
    ...judgeServer(version, { context, server }),
    ...judged("your own permissions", own, (answers) => {
      const missing = answers.filter(({ allowed }) => !allowed);
      if (missing.length === 0) return ok("you may see what is examined here");
      const texts = missing.map(permissionText);
      const fix = "ask an administrator of the cluster for these permissions, or to run lifeboat doctor";
      return { status: "warning", message: "you may not see all that is examined here", reasons: texts, fix };
    }),
  ];
}

/** Alone, where nothing else can be asked. */
export function judgeServer(
  version: Read<VersionFacts>,
  { context, server }: Pick<Facts, "context" | "server">,
): readonly Finding[] {
  if ("unread" in version) {
    const where = `context "${context}", ${server}`;
    const fix = "kubectl config get-contexts; lifeboat doctor --context NAME";
    return [failed("the API server cannot be asked", [version.unread, where], fix)];
  }
  const { text, minor } = version.value;
  const needs = `(needs 1.${OLDEST.kubernetes})`;
  if (minor === undefined) return [warning(`the API server is ${text} ${needs}`, "it does not say its minor version")];
  if (!isOld("kubernetes", minor)) return [ok(`the API server is ${text} ${needs}`)];
  const reason = "Lifeboat is neither made for older versions nor tested with them";
  return [failed(`the API server is ${text}, too old ${needs}`, reason, UPGRADE)];
}

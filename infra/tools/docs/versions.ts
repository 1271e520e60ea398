/** Renders a table of the features that need a version of Kubernetes or KubeVirt. */
import { VERSIONS, versionText } from "../../../shared/settings/versions.ts";
import { renderTable } from "./policy/tables.ts";

export function versionTable(): string {
  const rows = Object.values(VERSIONS).map(({ of, since, does, lifeboat }) => [versionText(of, since), does, lifeboat]);
  return renderTable([["from", "what changes", "what Lifeboat does"], ...rows]);
}

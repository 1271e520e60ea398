/**
 * Listing launcher pods: all there are, or those of some VMIs.
 * Owns: the selectors, and how many VMIs fit into one. Does not own: which are asked for (shared/pass).
 */
import type { LauncherFacts, VmiFacts } from "../policy/facts.ts";
import { COMPONENT_LABEL, CREATED_BY_LABEL, LAUNCHER_COMPONENT } from "../policy/names.ts";
import { launcherFacts } from "./projections.ts";
import { type OnOddItem, readAll } from "./read.ts";
import { Launcher } from "./schemas.ts";
import type { Send } from "./transport.ts";

export const LAUNCHER_SELECTOR = `${COMPONENT_LABEL}=${LAUNCHER_COMPONENT}`;

/** A UID has 36 characters, and a URL of more than 8 KB does not get through every proxy. */
const VMIS_A_REQUEST = 100;

export async function listLaunchers(
  send: Send,
  scope: "All" | readonly VmiFacts[],
  onOddItem: OnOddItem,
): Promise<readonly LauncherFacts[]> {
  const list = (labelSelector: string) =>
    readAll(send, { resource: "pods", labelSelector, schema: Launcher, project: launcherFacts, onOddItem });
  if (scope === "All") return await list(LAUNCHER_SELECTOR);
  const selectors: string[] = [];
  for (let i = 0; i < scope.length; i += VMIS_A_REQUEST) {
    const uids = scope.slice(i, i + VMIS_A_REQUEST).map((vmi) => vmi.uid);
    selectors.push(`${LAUNCHER_SELECTOR},${CREATED_BY_LABEL} in (${uids.join(",")})`);
  }
  return (await Promise.all(selectors.map(list))).flat();
}

/** Advises how to keep virt-handler on a node with a NoExecute taint. Without virt-handler, no VM can move. */

import { named } from "../../../shared/kube/client.ts";
import { CONFIGURATION } from "../../../shared/kube/names.ts";
import { readKubeVirt } from "../../../shared/kube/requests.ts";
import { mergeSettings, parseConfiguration } from "../../../shared/settings/configuration.ts";
import { isGateOn } from "../../../shared/settings/guarded.ts";
import { HANDLER_TOLERATION } from "../../../shared/settings/holds.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

export function handlerAdvice(kubevirtNamespace: string): string {
  return MESSAGES.handlerEnds(handlerChange(kubevirtNamespace));
}

/**
 * Returns the command that adds the toleration. The command repeats existing entries, because a merge patch replaces
 * the whole list.
 */
function handlerChange(kubevirtNamespace: string): string {
  const spec = { workloads: { nodePlacement: { tolerations: [HANDLER_TOLERATION] } } };
  return `kubectl -n ${kubevirtNamespace} patch kubevirt kubevirt --type merge -p '${JSON.stringify({ spec })}'`;
}

/** Prints the advice if the guard moves VMs for a NoExecute taint. */
export async function adviseOnHandler(connection: Connection, host: Host): Promise<void> {
  const cluster = connection.cluster();
  const found = await cluster.get("lifeboatconfigurations", named(CONFIGURATION), { expect: [403] });
  const kubevirt = await readKubeVirt(cluster);
  if (kubevirt === undefined) return;
  const settings = mergeSettings(kubevirt, parseConfiguration(found?.spec ?? {}).value);
  if (!isGateOn("NoExecuteTaint", settings) || settings.handlerToleratesNoExecute) return;
  host.stderr.write(handlerAdvice(kubevirt.namespace));
}

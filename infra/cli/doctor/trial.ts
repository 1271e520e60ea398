/** Sends a dry-run eviction of one VM's pod, and collects the answers of the webhooks. */
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import * as names from "../../../shared/kube/names.ts";
import { LAUNCHER } from "../../../shared/kube/requests.ts";
import type { Connection } from "../connection.ts";
import { quoted } from "../print.ts";

export type EvictionTrial =
  | { readonly pod: undefined; readonly why: string }
  | { readonly pod: string; readonly code: number; readonly message: string; readonly warnings: string };

export const GONE = 404;
const SAMPLE = 100;
/**
 * The status codes of answers that concern the eviction itself. The list omits 401 and 403, because these codes concern
 * the caller's own permissions.
 */
const ANSWERS = [400, 429, 500, 503, 504];

export async function tryEviction(connection: Connection, clusterStrategy?: string): Promise<EvictionTrial> {
  const found = await findPod(connection, clusterStrategy);
  if (found === undefined)
    return { pod: undefined, why: "found no running VM that can migrate and is not already leaving its node" };
  const metadata = { namespace: found.namespace, name: found.name };
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions: { dryRun: ["All"] } };
  const how = { subresource: "eviction", dryRun: true, expect: ANSWERS } as const;
  const { code, message, request } = await connection.cluster().create("pods", eviction, how);
  const warnings = connection.warnings.get(request) ?? "";
  return { pod: `${found.namespace}/${found.name}`, code, message: quoted(message), warnings };
}

async function findPod({ cluster }: Connection, clusterStrategy: string | undefined) {
  const vmis = await cluster().list("virtualmachineinstances", { limit: SAMPLE });
  const vmi = vmis.find((one) => isFit(one, clusterStrategy));
  if (vmi === undefined) return undefined;
  const { namespace, uid, nodeName } = vmi;
  const pods = await cluster().list("pods", { namespace, labels: { ...LAUNCHER, [names.CREATED_BY_LABEL]: uid } });
  return pods.find((pod) => pod.nodeName === nodeName && pod.phase === "Running" && !pod.deleting);
}

function isFit(vmi: VmiFacts, clusterStrategy: string | undefined): boolean {
  const { phase, nodeName, evacuationNodeName, isMigrating, deleting, liveMigratable, evictionStrategy } = vmi;
  const isQuiet = phase === "Running" && evacuationNodeName === undefined && !isMigrating && !deleting;
  const strategy = evictionStrategy ?? clusterStrategy ?? "None";
  return isQuiet && nodeName !== undefined && liveMigratable.migratable && strategy !== "None";
}

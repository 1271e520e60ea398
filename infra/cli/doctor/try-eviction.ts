/** Evicts a VM's pod in a dry run, which changes nothing. */
import * as z from "zod/mini";
import { Pod } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Vmi } from "../../../shared/cluster/kinds/kubevirt.ts";
import { object } from "../../../shared/cluster/paths.ts";
import { readSome } from "../../../shared/cluster/read.ts";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { COMPONENT_LABEL, CREATED_BY_LABEL, LAUNCHER_COMPONENT } from "../../../shared/policy/names.ts";
import type { Connection } from "../connection.ts";
import { quoted } from "../print.ts";

export type EvictionTrial =
  | { readonly pod: undefined; readonly why: string }
  | { readonly pod: string; readonly code: number; readonly message: string; readonly warnings: string };

export const GONE = 404;
/** Enough VMIs that one of them can move. */
const SAMPLE = "100";
const Answer = z.object({ message: z._default(z.string(), "") });
/** Every code with which an API server, a webhook or a budget may answer; 403 and 401 are the reader's. */
const ANSWERS = [400, GONE, 409, 422, 429, 500, 503, 504];

export async function tryEviction(connection: Connection, clusterStrategy?: string): Promise<EvictionTrial> {
  const found = await findPod(connection, clusterStrategy);
  if (found === undefined)
    return { pod: undefined, why: "there is no running VM that can migrate and is not about to" };
  const metadata = { namespace: found.namespace, name: found.name };
  const path = `${object("pods", metadata)}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions: { dryRun: ["All"] } };
  const request = { method: "POST", path, query: { dryRun: "All" }, body, expect: ANSWERS } as const;
  const answer = await connection.send()(request);
  const { message } = Answer.safeParse(answer.body).data ?? { message: "" };
  const warnings = connection.warnings.get(`POST ${path}`) ?? "";
  return { pod: `${found.namespace}/${found.name}`, code: answer.code, message: quoted(message), warnings };
}

async function findPod({ send }: Connection, clusterStrategy: string | undefined) {
  const vmis = await readSome(send(), "virtualmachineinstances", Vmi, { limit: SAMPLE });
  const vmi = vmis.find((one) => isFit(one, clusterStrategy));
  if (vmi === undefined) return undefined;
  const { namespace, uid, nodeName } = vmi;
  const labelSelector = `${COMPONENT_LABEL}=${LAUNCHER_COMPONENT},${CREATED_BY_LABEL}=${uid}`;
  const pods = await readSome(send(), "pods", Pod, { namespace, labelSelector });
  return pods.find((pod) => pod.nodeName === nodeName && pod.phase === "Running" && !pod.deleting);
}

function isFit(vmi: VmiFacts, clusterStrategy: string | undefined): boolean {
  const { phase, nodeName, evacuationNodeName, isMigrating, deleting, liveMigratable, evictionStrategy } = vmi;
  const isQuiet = phase === "Running" && evacuationNodeName === undefined && !isMigrating && !deleting;
  const strategy = evictionStrategy ?? clusterStrategy ?? "None";
  return isQuiet && nodeName !== undefined && liveMigratable.migratable && strategy !== "None";
}

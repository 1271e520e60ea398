/** Evicts a VM's pod in a dry run, which changes nothing: the answer shows whether the API server asks Lifeboat. */
import * as z from "zod/mini";
import { Pod } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Vmi } from "../../../shared/cluster/kinds/kubevirt.ts";
import { object } from "../../../shared/cluster/paths.ts";
import { readSome } from "../../../shared/cluster/read.ts";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { COMPONENT_LABEL, CREATED_BY_LABEL, LAUNCHER_COMPONENT } from "../../../shared/policy/names.ts";
import type { Connection } from "../connection.ts";
import { quoted } from "../print.ts";
import type { Read } from "./check.ts";
import type { EvictionTrial } from "./facts.ts";
import { OWN } from "./permissions.ts";
import { attempt } from "./read.ts";

/** Enough VMIs that one of them can move. */
const SAMPLE = "100";
const Answer = z.object({ message: z._default(z.string(), "") });
/** Every code with which an API server, a webhook or a budget may answer; 403 and 401 are the reader's. */
const ANSWERS = [400, 404, 409, 422, 429, 500, 503, 504];

export async function tryEviction(
  connection: Connection,
  clusterStrategy: string | undefined,
  isServed: boolean,
): Promise<Read<EvictionTrial>> {
  if (!isServed) return none("this cluster does not serve KubeVirt's kinds");
  const pod = await attempt(connection, OWN.vmis, () => findPod(connection, clusterStrategy));
  if ("unread" in pod) return pod;
  if (pod.value === undefined) return none("there is no running VM that can migrate and is not about to");
  const { namespace, name } = pod.value;
  return await attempt(connection, { ...OWN.evict, namespace }, () => evict(connection, { namespace, name }));
}

function none(why: string): Read<EvictionTrial> {
  return { value: { pod: undefined, why } };
}

async function findPod(connection: Connection, clusterStrategy: string | undefined) {
  const vmis = await readSome(connection.send(), "virtualmachineinstances", Vmi, { limit: SAMPLE });
  const vmi = vmis.find((one) => isFit(one, clusterStrategy));
  if (vmi === undefined) return undefined;
  const { namespace, uid, nodeName } = vmi;
  const labelSelector = `${COMPONENT_LABEL}=${LAUNCHER_COMPONENT},${CREATED_BY_LABEL}=${uid}`;
  const pods = await readSome(connection.send(), "pods", Pod, { namespace, labelSelector });
  return pods.find((pod) => pod.nodeName === nodeName && pod.phase === "Running" && !pod.deleting);
}

function isFit(vmi: VmiFacts, clusterStrategy: string | undefined): boolean {
  const { phase, nodeName, evacuationNodeName, isMigrating, deleting, liveMigratable, evictionStrategy } = vmi;
  const isQuiet = phase === "Running" && evacuationNodeName === undefined && !isMigrating && !deleting;
  const strategy = evictionStrategy ?? clusterStrategy ?? "None";
  return isQuiet && nodeName !== undefined && liveMigratable.migratable && strategy !== "None";
}

async function evict(
  connection: Connection,
  key: { readonly namespace: string; readonly name: string },
): Promise<EvictionTrial> {
  const path = `${object("pods", key)}/eviction`;
  const { code, body } = await connection.send()({
    method: "POST",
    path,
    query: { dryRun: "All" },
    body: { apiVersion: "policy/v1", kind: "Eviction", metadata: key, deleteOptions: { dryRun: ["All"] } },
    expect: ANSWERS,
  });
  const { message } = Answer.safeParse(body).data ?? { message: "" };
  const warnings = connection.warnings.get(`POST ${path}`) ?? "";
  return { pod: `${key.namespace}/${key.name}`, code, message: quoted(message), warnings };
}

/** The check by a dry-run eviction, which changes nothing: its answer shows whether the API server asks Lifeboat. */
import * as z from "zod/mini";
import { Pod } from "../../../shared/cluster/kinds/kubernetes.ts";
import { Vmi } from "../../../shared/cluster/kinds/kubevirt.ts";
import { object } from "../../../shared/cluster/paths.ts";
import { readSome } from "../../../shared/cluster/read.ts";
import type { VmiFacts } from "../../../shared/policy/facts.ts";
import { COMPONENT_LABEL, CREATED_BY_LABEL, LAUNCHER_COMPONENT } from "../../../shared/policy/names.ts";
import type { Connection } from "../connection.ts";
import { quoted } from "../print.ts";
import { saysBlind } from "../../../shared/policy/blind.ts";
import { DRY_RUN_WORDS } from "../../../shared/policy/eviction/messages.ts";
import { failed, type Finding, ok, readable, warning } from "./check.ts";
import { LOGS } from "./lifeboat.ts";
import { isInCluster, type Reads } from "./reads.ts";

const NAME = "evictions.lifeboat.dev";
const DENIED = /^admission webhook "([^"]+)" denied the request: /;
const NOT_CALLED = `failed calling webhook "${NAME}": `;
const TOKEN = "the API server does not accept the Worker's token (see Credentials)";
/** What an endpoint says of what is not its own. */
const OTHER_ENDPOINT = "not a review of";

export async function evictionAnswered(reads: Reads): Promise<Finding> {
  const trial = await reads.trial();
  if (trial.pod === undefined) return warning("a dry-run eviction was not tried", trial.why);
  const { pod, code, message } = trial;
  const words = wordsIn(trial);
  const what = `a dry-run eviction of pod ${pod}`;
  const { causes, fix } = await explanationOf(message, reads);
  if (words !== undefined) {
    const look = (await isInCluster(reads)) ? LOGS : "npx wrangler tail";
    if (saysBlind(words)) return failed(`${what}: Lifeboat is asked and cannot decide`, words, look);
    if (!words.startsWith(OTHER_ENDPOINT)) return ok(`${what} is answered by Lifeboat`);
    return failed(`${what}: another endpoint of Lifeboat is asked`, words, fix);
  }
  if (code === GONE) return warning("a dry-run eviction was not tried", `pod ${pod} has just gone`);
  const said = `${code}${message === "" ? "" : `: ${message}`}`;
  return failed(`${what} is not answered by Lifeboat`, [said, ...causes], fix);
}

/** Whether Lifeboat has; undefined where that is not known. */
export function isAnswered(trial: EvictionTrial | undefined): boolean | undefined {
  return trial?.pod === undefined || trial.code === GONE ? undefined : wordsIn(trial) !== undefined;
}

/** Lifeboat's. KubeVirt refuses in the same ones: only the name of the webhook, or the warning, tells. */
function wordsIn({ message, warnings }: Extract<EvictionTrial, { readonly pod: string }>): string | undefined {
  const [prefix = "", name] = DENIED.exec(message) ?? [];
  if (name === NAME) return message.slice(prefix.length);
  const at = warnings.indexOf(DRY_RUN_WORDS);
  return at < 0 ? undefined : warnings.slice(at + DRY_RUN_WORDS.length);
}

/** Why Lifeboat may not have answered, and what fixes that. */
async function explanationOf(message: string, reads: Reads) {
  const inside = await isInCluster(reads);
  const webhook = await readable(async () => (await reads.evictionWebhook()) ?? "Missing");
  const install = `lifeboat install${inside ? "" : " --worker URL"}`;
  if (webhook === "Missing") {
    return { causes: ["webhook lifeboat is missing, so the API server does not ask"], fix: install };
  }
  // A Service has an address, too, which no host resolves.
  const reaching = webhook?.base === undefined ? install : `curl ${webhook.base}/healthz, on a host of the API server`;
  const fix = inside ? LOGS : reaching;
  if (message.includes(NOT_CALLED)) return { causes: ["the API server asks, and gets no answer"], fix };
  const [, by] = DENIED.exec(message) ?? [];
  const who = by === undefined ? "no webhook has refused it" : `only webhook ${by} has refused it`;
  const causes = [
    `${who}: the API server does not reach Lifeboat (firewall, DNS, caBundle), Lifeboat does not accept the URL's`,
    `cluster or webhookToken, ${inside ? "" : `${TOKEN}, `}or the webhook leaves the pod out; failurePolicy Ignore hides that`,
  ];
  return { causes, fix };
}

export type EvictionTrial =
  | { readonly pod: undefined; readonly why: string }
  | { readonly pod: string; readonly code: number; readonly message: string; readonly warnings: string };

const GONE = 404;
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

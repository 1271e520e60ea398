/** Checks by a dry-run eviction whether the API server asks Lifeboat about evictions. */
import { saysUndecided } from "../../../shared/settings/failure-posture.ts";
import { DRY_RUN_WORDS } from "../../../shared/eviction/messages.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import { LOGS, readable } from "./check.ts";
import { isInCluster, type DoctorReads } from "./reads.ts";
import { type EvictionTrial, GONE } from "./trial.ts";

const NAME = "evictions.lifeboat.dev";
const DENIED = /^admission webhook "([^"]+)" denied the request: /;
const NOT_CALLED = `failed calling webhook "${NAME}": `;
const TOKEN = "the API server does not accept the Worker's token (see Credentials)";
/** The start of the answer if the review was sent to the wrong endpoint of Lifeboat. */
const OTHER_ENDPOINT = "not a review of";

export async function evictionAnswered(reads: DoctorReads): Promise<Finding> {
  const trial = await reads.trial();
  if (trial.pod === undefined) {
    const { causes, fix, isMissing } = await explanationOf("", reads);
    return isMissing ? failed("Lifeboat answers no eviction", causes, fix) : notTried(trial.why);
  }
  const { pod, code, message } = trial;
  const words = wordsIn(trial);
  const what = `a dry-run eviction of pod ${pod}`;
  const { causes, fix } = await explanationOf(message, reads);
  if (words !== undefined) {
    const logsCommand = (await isInCluster(reads)) ? LOGS : "npx wrangler tail";
    if (saysUndecided(words))
      return failed(`${what}: the API server asks Lifeboat, but Lifeboat cannot decide`, words, logsCommand);
    if (!words.startsWith(OTHER_ENDPOINT)) return ok(`${what} is answered by Lifeboat`);
    return failed(`${what}: the API server asks the wrong endpoint of Lifeboat`, words, fix);
  }
  if (code === GONE) return notTried(`pod ${pod} was deleted before the trial`);
  const said = `${code}${message === "" ? "" : `: ${message}`}`;
  return failed(`${what} is not answered by Lifeboat`, [said, ...causes], fix);
}

function notTried(why: string): Finding {
  return warning("a dry-run eviction was not tried", why);
}

/**
 * Returns whether Lifeboat has answered the trial eviction. Returns undefined if no eviction was tried or the pod no
 * longer exists.
 */
export function isAnswered(trial: EvictionTrial | undefined): boolean | undefined {
  return trial?.pod === undefined || trial.code === GONE ? undefined : wordsIn(trial) !== undefined;
}

/**
 * Returns the denial or the warning with which Lifeboat answered the trial eviction. Returns undefined if Lifeboat did
 * not answer. KubeVirt's webhook denies evictions with the same texts, so the texts alone do not identify the sender.
 */
function wordsIn({ message, warnings }: Extract<EvictionTrial, { readonly pod: string }>): string | undefined {
  const [prefix = "", name] = DENIED.exec(message) ?? [];
  if (name === NAME) return message.slice(prefix.length);
  const at = warnings.indexOf(DRY_RUN_WORDS);
  return at < 0 ? undefined : warnings.slice(at + DRY_RUN_WORDS.length);
}

async function explanationOf(message: string, reads: DoctorReads) {
  const inside = await isInCluster(reads);
  const webhook = await readable(async () => (await reads.evictionWebhook()) ?? "Missing");
  const install = `lifeboat install${inside ? "" : " --worker URL"}`;
  if (webhook === "Missing") {
    return {
      causes: ["webhook lifeboat is missing, so the API server does not ask Lifeboat"],
      fix: install,
      isMissing: true,
    };
  }
  // Suggests `curl` only for the URL of a Worker, because only hosts of the cluster can resolve the address of a
  // Service.
  const reaching = webhook?.base === undefined ? install : `curl ${webhook.base}/healthz, on a host of the API server`;
  const fix = inside ? LOGS : reaching;
  if (message.includes(NOT_CALLED)) return { causes: ["the API server asks Lifeboat, and gets no answer"], fix };
  const [, by] = DENIED.exec(message) ?? [];
  const who = by === undefined ? "no webhook has refused the eviction" : `only webhook ${by} has refused the eviction`;
  const causes = [
    `${who}. failurePolicy Ignore hides errors of Lifeboat's webhook. Possible causes:`,
    "the API server does not reach Lifeboat (firewall, DNS, caBundle)",
    "Lifeboat does not accept the URL's cluster or webhookToken",
    ...(inside ? [] : [TOKEN]),
    "the rules or conditions of the webhook exclude the pod",
  ];
  return { causes, fix };
}

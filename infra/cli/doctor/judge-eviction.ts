/** Whether the dry-run eviction came back with Lifeboat's words, and what is the likely cause if it did not. */
import { saysBlind } from "../../../shared/policy/blind.ts";
import { DRY_RUN_WORDS } from "../../../shared/policy/eviction/messages.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import type { EvictionTrial, Facts } from "./facts.ts";
import { installOf, isInCluster, LOGS } from "./form.ts";
import { addressOf } from "./judge-webhooks.ts";

const NAME = "evictions.lifeboat.dev";
const DENIED = /^admission webhook "([^"]+)" denied the request: /;
const NOT_CALLED = `failed calling webhook "${NAME}": `;
const GONE = 404;
/** What a door says of what is not its own. */
const OTHER_DOOR = "not a review of";

type Tried = Extract<EvictionTrial, { readonly pod: string }>;

export function judgeTrial(facts: Facts): readonly Finding[] {
  return judged("a dry-run eviction", facts.trial, (trial) => {
    if (trial.pod === undefined) return warning("a dry-run eviction was not tried", trial.why);
    const { pod, code, message } = trial;
    const words = wordsOf(trial);
    if (words !== undefined) return judgeWords(`a dry-run eviction of pod ${pod}`, words, facts);
    if (code === GONE) return warning("a dry-run eviction was not tried", `pod ${pod} has just gone`);
    return failed(
      `a dry-run eviction of pod ${pod} is not answered by Lifeboat`,
      [`${code}${message === "" ? "" : `: ${message}`}`, ...causes(message, facts)],
      fixOf(facts),
    );
  });
}

/** Whether Lifeboat has; undefined where that is not known. */
export function isAnswered(trial: Facts["trial"]): boolean | undefined {
  const tried = valueOf(trial);
  return tried?.pod === undefined || tried.code === GONE ? undefined : wordsOf(tried) !== undefined;
}

/** Lifeboat's. KubeVirt refuses in the same ones: only the name of the webhook, or the warning, tells. */
function wordsOf({ message, warnings }: Tried): string | undefined {
  const [prefix = "", name] = DENIED.exec(message) ?? [];
  if (name === NAME) return message.slice(prefix.length);
  const at = warnings.indexOf(DRY_RUN_WORDS);
  return at < 0 ? undefined : warnings.slice(at + DRY_RUN_WORDS.length);
}

function judgeWords(what: string, words: string, facts: Facts): Finding {
  const fix = isInCluster(facts) ? LOGS : "npx wrangler tail";
  if (saysBlind(words)) return failed(`${what}: Lifeboat is asked and cannot decide`, words, fix);
  if (words.startsWith(OTHER_DOOR)) return failed(`${what}: another door of Lifeboat's is asked`, words, fixOf(facts));
  return ok(`${what} is answered by Lifeboat`);
}

function causes(message: string, facts: Facts): readonly string[] {
  const { webhooks } = facts;
  if ("value" in webhooks.evictions && webhooks.evictions.value === undefined) {
    return ["webhook lifeboat is missing, so the API server does not ask"];
  }
  if (message.includes(NOT_CALLED)) return ["the API server asks, and gets no answer"];
  const [, by] = DENIED.exec(message) ?? [];
  const who = by === undefined ? "no webhook has refused it" : `only webhook ${by} has refused it`;
  const token = "the API server does not accept the Worker's token (see Credentials)";
  if (isTokenless(facts)) return [`${who}: most likely ${token}; failurePolicy Ignore hides that`];
  return [
    `${who}: the API server does not reach Lifeboat (firewall, DNS, caBundle), Lifeboat does not accept the URL's`,
    `cluster or webhookToken, ${isInCluster(facts) ? "" : `${token}, `}or the webhook leaves the pod out; failurePolicy Ignore hides that`,
  ];
}

/** No Secret of a token that anyone uses: likelier than anything that a cluster does not show. */
function isTokenless(facts: Facts): boolean {
  return !isInCluster(facts) && valueOf(facts.tokens)?.some(({ isUsed }) => isUsed) === false;
}

function fixOf(facts: Facts): string {
  if (valueOf(facts.webhooks.evictions) === undefined) return installOf("evictions", facts);
  // A Service has an address, too, which no host resolves.
  if (isInCluster(facts)) return LOGS;
  if (isTokenless(facts)) return "lifeboat rotate";
  const { base } = addressOf(facts, "evictions") ?? {};
  return base === undefined
    ? installOf("evictions", facts)
    : `curl ${base}/healthz, on a host of the API server; infra/kubernetes/README.md, "Reaching the Worker"`;
}

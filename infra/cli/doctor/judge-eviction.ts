/**
 * Whether the dry-run eviction came back with Lifeboat's words.
 * Owns: telling them from those of others, and what is the likely cause if they are missing.
 */
import { DRY_RUN_WORDS } from "../../../shared/policy/eviction/messages.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import type { EvictionTrial, Facts } from "./facts.ts";
import { addressOf } from "./judge-webhooks.ts";

const NAME = "evictions.lifeboat.dev";
const DENIED = /^admission webhook "([^"]+)" denied the request: /;
const NOT_CALLED = `failed calling webhook "${NAME}": `;
const GONE = 404;

export function judgeTrial(facts: Facts): readonly Finding[] {
  return judged("a dry-run eviction", facts.trial, (trial) => {
    if (trial.pod === undefined) return warning("a dry-run eviction was not tried", trial.why);
    const { pod, code, message } = trial;
    if (isAnswered(trial)) return ok(`a dry-run eviction of pod ${pod} is answered by Lifeboat`);
    if (code === GONE) return warning("a dry-run eviction was not tried", `pod ${pod} has just gone`);
    return failed(
      `a dry-run eviction of pod ${pod} is not answered by Lifeboat`,
      [`${code}${message === "" ? "" : `: ${message}`}`, ...causes(message, facts)],
      fixOf(facts),
    );
  });
}

/** KubeVirt refuses in the same words: only the name of the webhook, or the warning, tells. */
function isAnswered({ message, warnings }: Extract<EvictionTrial, { readonly pod: string }>): boolean {
  return DENIED.exec(message)?.[1] === NAME || warnings.includes(DRY_RUN_WORDS);
}

function causes(message: string, facts: Facts): readonly string[] {
  const { webhooks } = facts;
  if ("value" in webhooks.evictions && webhooks.evictions.value === undefined) {
    return ["webhook lifeboat is missing, so the API server does not ask"];
  }
  if (message.includes(NOT_CALLED)) return ["the API server asks, and gets no answer"];
  const [, by] = DENIED.exec(message) ?? [];
  const who = by === undefined ? "no webhook has refused it" : `only webhook ${by} has refused it`;
  return [
    `${who}: the API server does not reach Lifeboat (firewall, DNS, caBundle), Lifeboat does not accept the URL's`,
    "cluster or webhookToken, or the webhook leaves the pod out; failurePolicy Ignore hides that",
  ];
}

function fixOf(facts: Facts): string {
  const { base } = addressOf(facts, "evictions") ?? {};
  if (valueOf(facts.webhooks.evictions) === undefined || base === undefined) {
    return 'infra/kubernetes/webhook.yaml, with your URL: infra/kubernetes/README.md, "Install", step 7';
  }
  return `curl ${base}/healthz, on a host of the API server; infra/kubernetes/README.md, "Reaching the Worker"`;
}

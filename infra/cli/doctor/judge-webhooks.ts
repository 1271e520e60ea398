/**
 * The webhook objects that make the API server ask Lifeboat, beside the shipped ones, and the guard's prerequisites.
 * Owns: what is expected of their addresses, from a cluster alone. Does not own: the comparison (shared/policy/webhooks).
 */
import { GUARD_CAUSES, GUARDED, isGateOn, isGuardOn } from "../../../shared/policy/guard/guarded.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { compareWebhook, SHIPPED } from "../../../shared/policy/webhooks/compare.ts";
import type { InstalledWebhooks, WebhookDoor } from "../../../shared/policy/webhooks/facts.ts";
import { partsOf } from "../../../shared/policy/webhooks/webhook-url.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import type { Facts } from "./facts.ts";

const README = "infra/kubernetes/README.md";
const FILES = {
  evictions: { file: "infra/kubernetes/webhook.yaml", step: `${README}, "Install", step 7` },
  deletions: { file: "infra/kubernetes/optional/guard/guard.yaml", step: `${README}, "The guard"` },
} as const satisfies Record<WebhookDoor, unknown>;

/** Where the webhook leads to, without its token. */
export function addressOf({ webhooks }: Pick<Facts, "webhooks">, door: WebhookDoor) {
  const url = valueOf(webhooks[door])?.webhooks.find(({ name }) => name === `${door}.lifeboat.dev`)?.url;
  const parts = url === undefined ? undefined : partsOf(url);
  return parts === undefined ? undefined : { base: parts.base, cluster: parts.cluster, token: parts.token };
}

export function judgeWebhooks(facts: Facts, settings: Settings): readonly Finding[] {
  const what = `webhook ${SHIPPED.evictions.object}`;
  return judged(what, facts.webhooks.evictions, (found) => {
    if (found !== undefined) return compared("evictions", found, { facts, settings });
    const { file, step } = FILES.evictions;
    const reason = "the API server asks Lifeboat about no eviction";
    return failed(`${what} is missing`, reason, `lifeboat install --worker URL; or ${file}, with your URL: ${step}`);
  });
}

interface Beside {
  readonly facts: Facts;
  readonly settings: Settings;
}

function compared(door: WebhookDoor, found: InstalledWebhooks, { facts, settings }: Beside): Finding {
  const { object } = SHIPPED[door];
  const { file, step } = FILES[door];
  const fix = `kubectl get validatingwebhookconfiguration ${object} -o yaml; then ${file}, with your URL: ${step}`;
  const address = addressOf(facts, door);
  const { cluster = "CLUSTER", token } = address ?? {};
  const tokens = token === undefined ? [] : [token];
  const { problems, remarks } = compareWebhook(found, { door, cluster, tokens, publicUrl: undefined, settings });
  if (problems.length > 0) return failed(`webhook ${object} does not lead to Lifeboat`, problems, fix);
  if (address !== undefined && isExample(address)) {
    return failed(`webhook ${object} does not lead to Lifeboat`, `its URL is still the one of ${file}`, fix);
  }
  const where = address === undefined ? "a Service" : `${address.base} (cluster ${cluster})`;
  // The trial shows whether a Service leads to Lifeboat.
  const other = [...remarks.filter((remark) => !remark.includes("clientConfig.service")), ...astray(facts, door)];
  const said = `webhook ${object} leads to ${where}`;
  return other.length === 0 ? ok(said) : { status: "warning", message: said, reasons: other, fix };
}

function isExample({ base, cluster, token }: NonNullable<Address>): boolean {
  return base.includes("lifeboat.example.com") || cluster === "CLUSTER" || token === "WEBHOOK_TOKEN";
}

function astray(facts: Facts, door: WebhookDoor): readonly string[] {
  const [own, evictions] = [addressOf(facts, door), addressOf(facts, "evictions")];
  const isSame = own === undefined || evictions === undefined || isSamePlace(own, evictions);
  return isSame ? [] : ["its URL leads elsewhere than that of webhook lifeboat"];
}

function isSamePlace(a: NonNullable<Address>, b: NonNullable<Address>): boolean {
  return a.base === b.base && a.cluster === b.cluster;
}

type Address = ReturnType<typeof addressOf>;

export function judgeGuard(facts: Facts, settings: Settings): readonly Finding[] {
  const { object } = SHIPPED.deletions;
  const held = GUARD_CAUSES.filter((cause) => isGuardOn(cause, settings));
  const gates = GUARD_CAUSES.filter((cause) => isGateOn(cause, settings)).map((cause) => GUARDED[cause].gate);
  return judged(`webhook ${object}`, facts.webhooks.deletions, (found) => {
    const { file, step } = FILES.deletions;
    if (held.length === 0) {
      if (found === undefined) return ok("the guard is off");
      const why = gates.length === 0 ? "none of its feature gates is on" : "guard.mode is Off";
      return warning("the guard is installed and holds nothing", why, "kubectl edit lifeboatconfiguration lifeboat");
    }
    if (found !== undefined) {
      return [ok(`the guard holds deletions: ${held.join(", ")}`), compared("deletions", found, { facts, settings })];
    }
    const message = `${gates.join(", ")} ${gates.length === 1 ? "is" : "are"} on, and webhook ${object} is missing`;
    return failed(message, "no deletion is held back", `kubectl apply -f ${file}, with your URL: ${step}`);
  });
}

/** The webhook objects that make the API server ask Lifeboat, beside the shipped ones, and the guard's prerequisites. */
import { GUARD_CAUSES, GUARDED, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { compareWebhook, SHIPPED } from "../../../shared/policy/webhooks/compare.ts";
import type { InstalledWebhooks, WebhookDoor } from "../../../shared/policy/webhooks/facts.ts";
import { partsOf } from "../../../shared/policy/webhooks/webhook-url.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import type { Facts } from "./facts.ts";
import { fileOf, installOf } from "./form.ts";

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
    const reason = "the API server asks Lifeboat about no eviction";
    return failed(`${what} is missing`, reason, installOf("evictions", facts));
  });
}

interface Beside {
  readonly facts: Facts;
  readonly settings: Settings;
}

function compared(door: WebhookDoor, found: InstalledWebhooks, { facts, settings }: Beside): Finding {
  const { object } = SHIPPED[door];
  const fix = `kubectl get validatingwebhookconfiguration ${object} -o yaml; then ${installOf(door, facts)}`;
  const address = addressOf(facts, door);
  const { cluster = "CLUSTER", token } = address ?? {};
  const tokens = token === undefined ? [] : [token];
  const { problems, remarks } = compareWebhook(found, { door, cluster, tokens, publicUrl: undefined, settings });
  if (problems.length > 0) return failed(`webhook ${object} does not lead to Lifeboat`, problems, fix);
  if (address !== undefined && isExample(address)) {
    return failed(`webhook ${object} does not lead to Lifeboat`, `its URL is still the one of ${fileOf(door)}`, fix);
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
  const guarded = GUARD_CAUSES.filter((cause) => isGateOn(cause, settings));
  const gates = guarded.map((cause) => GUARDED[cause].gate);
  return judged(`webhook ${object}`, facts.webhooks.deletions, (found) => {
    if (guarded.length === 0) {
      if (found === undefined) return ok("the guard is off");
      const why = "none of its feature gates is on";
      return warning("the guard is installed and refuses nothing", why, "kubectl edit lifeboatconfiguration lifeboat");
    }
    if (found !== undefined) {
      return [
        ok(`the guard refuses deletions: ${guarded.join(", ")}`),
        compared("deletions", found, { facts, settings }),
      ];
    }
    const message = `${gates.join(", ")} ${gates.length === 1 ? "is" : "are"} on, and webhook ${object} is missing`;
    return failed(message, "no deletion is refused", installOf("deletions", facts));
  });
}

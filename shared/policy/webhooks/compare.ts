/**
 * Whether the API server sends Lifeboat what it should: the webhook objects that are installed, beside those that are shipped.
 *
 * A problem: with this the API server asks nothing, or gets no answer. A remark: it asks less, or otherwise, than as shipped, which an
 * administrator may want. An expression cannot be evaluated here: one that is not the shipped one is a remark.
 */
import { GUARD_CAUSES, isGateOn } from "../guard/guarded.ts";
import { GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../names.ts";
import type {
  Findings,
  Installation,
  InstalledWebhook,
  WebhookDoor,
  WebhookExpectation,
  WebhookRule,
} from "./facts.ts";
import { compareUrl } from "./webhook-url.ts";

export interface Comparison extends Required<Findings> {
  readonly door: WebhookDoor;
  readonly object: string;
  readonly found: "Installed" | "Absent" | "Unread";
}

/** As shipped: infra/kubernetes/webhook.yaml and optional/guard/guard.yaml. */
export const SHIPPED = {
  evictions: {
    object: OWN_WEBHOOKS,
    operation: "CREATE",
    resource: "pods/eviction",
    failurePolicy: "Ignore",
    timeoutSeconds: 10,
    conditions: [
      "request.name.startsWith('virt-launcher-') || request.name.startsWith('hp-volume-')",
      "request.userInfo.username != 'system:serviceaccount:lifeboat-system:lifeboat'",
    ],
  },
  deletions: {
    object: GUARD_WEBHOOKS,
    operation: "DELETE",
    resource: "pods",
    failurePolicy: "Ignore",
    timeoutSeconds: 10,
    conditions: [
      "oldObject.?metadata.?labels[?'kubevirt.io'].orValue('') in ['virt-launcher', 'hotplug-disk']",
      "request.userInfo.username in ['system:kube-scheduler', 'system:serviceaccount:kube-system:node-controller', " +
        "'system:serviceaccount:kube-system:taint-eviction-controller', 'system:serviceaccount:kube-system:karpenter', " +
        "'system:serviceaccount:karpenter:karpenter']",
      "!oldObject.?status.?conditions.orValue([]).exists(c, " +
        "c.type == 'Ready' && c.status == 'False' && c.?reason.orValue('') == '')",
    ],
  },
} as const;

export function compareWebhook(installed: Installation, expected: WebhookExpectation): Comparison {
  const { door } = expected;
  const { object } = SHIPPED[door];
  if (installed === "Unread") {
    return { door, object, found: "Unread", problems: [], remarks: [`${object}: cannot be read: see rbac.yaml`] };
  }
  if (installed === "Absent") return { door, object, found: "Absent", ...absent(expected) };
  const name = `${door}.lifeboat.dev`;
  const webhook = installed.webhooks.find((one) => one.name === name);
  const { problems, remarks = [] } =
    webhook === undefined
      ? { problems: [`webhooks: expected one named ${name}`] }
      : merged([
          compareAddress(webhook, expected),
          compareRules(webhook, expected),
          compareConditions(webhook, expected),
          compareRest(webhook, expected),
        ]);
  const told = (texts: readonly string[]) => texts.map((text) => `${object}: ${text}`);
  return { door, object, found: "Installed", problems: told(problems), remarks: told(remarks) };
}

/** The guard is optional. */
function absent({ door, settings }: WebhookExpectation): Required<Findings> {
  const { object } = SHIPPED[door];
  if (door === "evictions") return { problems: [`${object}: there is no such object: see webhook.yaml`], remarks: [] };
  const isWanted = GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  const remark = `${object}: there is no such object, so no deletion is refused: see optional/guard`;
  return { problems: [], remarks: isWanted ? [remark] : [] };
}

function merged(all: readonly Findings[]): Required<Findings> {
  return { problems: all.flatMap(({ problems }) => problems), remarks: all.flatMap(({ remarks = [] }) => remarks) };
}

function compareAddress(webhook: InstalledWebhook, expected: WebhookExpectation): Findings {
  const { url = "", isService, admissionReviewVersions } = webhook;
  // From outside of the cluster it cannot be seen where a Service leads.
  const isUnseen = isService && !(expected.publicUrl ?? "").endsWith(".svc");
  const { problems, remarks = [] } = isUnseen
    ? { problems: [], remarks: ["clientConfig.service: whether that leads to Lifeboat cannot be seen"] }
    : compareUrl(url, expected, isService ? "clientConfig.service" : "clientConfig.url");
  const isVersion = admissionReviewVersions.includes("v1");
  return { problems: [...problems, ...(isVersion ? [] : ["admissionReviewVersions: expected v1"])], remarks };
}

function compareRules({ rules, matchPolicy }: InstalledWebhook, { door }: WebhookExpectation): Findings {
  const { operation, resource } = SHIPPED[door];
  const covering = rules.filter((rule) => isCovering(rule, operation, resource));
  const problems = covering.length === 0 ? [`rules: expected ${operation} of ${resource}`] : [];
  const isMore = covering.length < rules.length;
  return {
    problems,
    remarks: [
      ...(isMore && problems.length === 0 ? [`rules: more than ${operation} of ${resource}`] : []),
      ...(matchPolicy === "Equivalent" ? [] : ["matchPolicy: expected Equivalent"]),
    ],
  };
}

function isCovering(rule: WebhookRule, operation: string, resource: string): boolean {
  const [kind = "", subresource] = resource.split("/");
  const texts = ["*/*", resource, ...(subresource === undefined ? ["*"] : [`${kind}/*`, `*/${subresource}`])];
  return (
    hasOneOf(rule.operations, ["*", operation]) &&
    hasOneOf(rule.apiGroups, ["*", ""]) &&
    hasOneOf(rule.apiVersions, ["*", "v1"]) &&
    hasOneOf(rule.resources, texts) &&
    rule.scope !== "Cluster"
  );
}

function hasOneOf(found: readonly string[], wanted: readonly string[]): boolean {
  return wanted.some((one) => found.includes(one));
}

const REQUESTER = "request.userInfo.username";

function compareConditions({ matchConditions }: InstalledWebhook, { door, settings }: WebhookExpectation): Findings {
  const shipped: readonly string[] = SHIPPED[door].conditions;
  const never = matchConditions.filter(({ expression }) => expression.trim() === "false");
  const others = matchConditions.filter(({ expression }) => {
    const text = expression.replaceAll(/\s+/g, " ").trim();
    return text !== "false" && !shipped.includes(text) && !(door === "deletions" && text.includes(REQUESTER));
  });
  return {
    problems: never.map(({ name }) => `matchConditions.${name}: leaves everything out`),
    remarks: [
      ...others.map(({ name }) => `matchConditions.${name}: not as shipped; what it leaves out is not sent`),
      ...(door === "deletions" ? unsent(matchConditions, settings) : []),
    ],
  };
}

/** The guard's webhook names the users of `guard.requesters` and `guard.nodeTerminators`, too. */
function unsent(conditions: InstalledWebhook["matchConditions"], { guard }: WebhookExpectation["settings"]) {
  const naming = conditions.filter(({ expression }) => expression.includes(REQUESTER));
  return (["requesters", "nodeTerminators"] as const).flatMap((field) => {
    const missing = guard[field].filter((user) => naming.some(({ expression }) => !expression.includes(`'${user}'`)));
    return missing.map((user) => `matchConditions: ${user} of guard.${field} is not named`);
  });
}

function compareRest(webhook: InstalledWebhook, { door }: WebhookExpectation): Findings {
  const { failurePolicy, timeoutSeconds } = SHIPPED[door];
  const remarks = [
    ...webhook.selectors.map((field) => `${field}: what it leaves out is not sent`),
    ...(webhook.failurePolicy === failurePolicy
      ? []
      : [`failurePolicy: ${webhook.failurePolicy}, not ${failurePolicy}`]),
    ...(webhook.timeoutSeconds === timeoutSeconds
      ? []
      : [`timeoutSeconds: ${webhook.timeoutSeconds}, not ${timeoutSeconds}`]),
  ];
  return { problems: [], remarks };
}

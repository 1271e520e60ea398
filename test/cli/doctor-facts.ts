/** What `lifeboat doctor` finds in a cluster in order: a table's rows change one thing of it. */
import type { Facts, KubeVirtSeen } from "../../infra/cli/doctor/facts.ts";
import { GRANTED } from "../../infra/cli/doctor/permissions.ts";
import type { Read } from "../../infra/cli/doctor/check.ts";
import type { TokenSecret } from "../../infra/cli/install/token.ts";
import type { InstalledWebhook, InstalledWebhooks } from "../../shared/policy/webhooks/facts.ts";
import { SHIPPED } from "../../shared/policy/webhooks/compare.ts";

export const NOW = new Date("2026-11-23T12:00:00Z");
export const UNREAD: Read<never> = { unread: "it is forbidden" };

export function url(door: "evictions" | "deletions", base = "https://lifeboat.test/clusters/prod"): string {
  return `${base}/admission/${door}/token`;
}

export function webhook(door: "evictions" | "deletions", tweak: Partial<InstalledWebhook> = {}): InstalledWebhooks {
  const { operation, resource, failurePolicy, timeoutSeconds, conditions } = SHIPPED[door];
  const shipped: InstalledWebhook = {
    name: `${door}.lifeboat.dev`,
    url: url(door),
    isService: false,
    rules: [
      { operations: [operation], apiGroups: [""], apiVersions: ["v1"], resources: [resource], scope: "Namespaced" },
    ],
    matchConditions: conditions.map((expression, at) => ({ name: `condition-${at}`, expression })),
    selectors: [],
    failurePolicy,
    matchPolicy: "Equivalent",
    timeoutSeconds,
    admissionReviewVersions: ["v1"],
  };
  return { uid: "u", resourceVersion: "1", webhooks: [{ ...shipped, ...tweak }] };
}

export function kubevirt({ facts, ...tweak }: Partial<KubeVirtSeen> = {}): Read<KubeVirtSeen> {
  const usual = { namespace: "kubevirt", featureGates: [], evictionStrategy: "LiveMigrate", minor: 8 };
  const seen = { name: "kubevirt", version: "v1.8.0", bandwidthPerMigration: "", workloadUpdateMethods: [] };
  return { value: { ...seen, facts: { ...usual, ...facts }, ...tweak } };
}

const TYPES = ["Ready", "Permitted", "WebhookCalled", "ReviewsDecided", "CredentialsValid"];

export function configuration(spec: unknown = {}, tweak: Readonly<Record<string, string | number>> = {}) {
  const usual = { status: "True", reason: "Fine", message: "all is well", lastTransitionTime: "2026-11-20T12:00:00Z" };
  const conditions = TYPES.map((type) => ({ type, ...usual, observedGeneration: 1, ...tweak }));
  return { value: { resourceVersion: "1", generation: 1, spec, conditions } };
}

export function token(tweak: Partial<TokenSecret> = {}) {
  return { name: "lifeboat-token-x7k2p", createdAt: "2026-11-01T12:00:00Z", isUsed: true, ...tweak };
}

export const KUBEVIRT_KINDS = [
  "kubevirts",
  "virtualmachines",
  "virtualmachineinstances",
  "virtualmachineinstancemigrations",
];

export function facts(tweak: Partial<Facts> = {}): Facts {
  const served = new Map<string, readonly string[]>([
    ["kubevirt.io/v1", KUBEVIRT_KINDS],
    ["lifeboat.dev/v1alpha1", ["evacuations", "lifeboatconfigurations"]],
  ]);
  const reviewer = { failurePolicy: "Fail", matchConditions: [], isSelective: false };
  return {
    now: NOW,
    context: "jane@prod",
    server: "https://api.prod",
    version: { value: { text: "1.36.2", minor: 36 } },
    own: { value: [] },
    served: { value: served },
    kubevirt: kubevirt(),
    reviewers: { value: [{ ...reviewer, rules: [{ operations: ["CREATE"], resources: ["pods/eviction"] }] }] },
    configuration: configuration(),
    webhooks: { evictions: { value: webhook("evictions") }, deletions: { value: undefined } },
    granted: { value: GRANTED.map((one) => ({ ...one, allowed: true })) },
    trial: {
      value: { pod: "apps/virt-launcher-web", code: 201, message: "", warnings: '299 - "Lifeboat answers: allowed"' },
    },
    relay: { value: undefined },
    inside: { value: undefined },
    site: { value: undefined },
    tokens: { value: [token()] },
    hasPlugin: { value: false },
    ...tweak,
  };
}

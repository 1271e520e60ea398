/** Returns the facts that `lifeboat doctor` finds in a healthy cluster. Each row of a test table changes one fact. */
import { Unread } from "../../../infra/cli/doctor/check.ts";
import { WebhookConfiguration } from "../../../shared/kube/schemas/webhooks.ts";
import { GRANTED, type DoctorReads } from "../../../infra/cli/doctor/reads.ts";
import { makeCertificate, validityFrom } from "../../../infra/cli/install/make-certificate.ts";
import { fitPolicy, type GuardSite } from "../../../infra/cli/install/guard.ts";
import { idOf, type Installed, SHIPPED } from "../../../infra/cli/doctor/policies.ts";
import { pod, vmi } from "../../support/fixtures.ts";
import { HOST } from "../../../infra/server/names.ts";
import { ServerSecret } from "../../../infra/server/secret.ts";
import type { TokenSecret } from "../../../infra/cli/install/token.ts";

type Found<T> = { readonly value: T } | { readonly unread: string };
type Facts = {
  readonly [
    K in keyof DoctorReads as DoctorReads[K] extends () => Promise<unknown> ? K : never
  ]: DoctorReads[K] extends () => Promise<infer T> ? Found<T> : never;
};
export type Tweak = Partial<Facts>;
type KubeVirtSeen = NonNullable<Awaited<ReturnType<DoctorReads["kubevirt"]>>>;

export const NOW = new Date("2026-11-23T12:00:00Z");
export const UNREAD = { unread: "it is forbidden" } as const;

export function kubevirt({ facts, ...tweak }: Partial<KubeVirtSeen> = {}): { readonly value: KubeVirtSeen } {
  const usual = { namespace: "kubevirt", featureGates: [], evictionStrategy: "LiveMigrate", minor: 8 };
  return { value: { name: "kubevirt", version: "v1.8.0", facts: { ...usual, ...facts }, ...tweak } };
}

const TYPES = ["Valid", "Permitted", "WebhookCalled", "ReviewsDecided", "CredentialsValid", "CertificateValid"];

type Identity = Awaited<ReturnType<DoctorReads["identity"]>>;
export const CERTIFICATE = await makeCertificate(HOST, validityFrom(NOW));
export const base64 = (text: string) => Buffer.from(text).toString("base64");

export interface Together {
  readonly data?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly caBundle?: string;
  readonly path?: string;
}

export function fitting({ data, annotations = {}, ...tweak }: Together = {}): Identity {
  const { certPem, keyPem } = CERTIFICATE;
  const own = {
    "tls.crt": certPem,
    "tls.key": keyPem,
    webhookToken: "token-0123456789",
    operatorToken: "other-0123456789",
    ...data,
  };
  const encoded = Object.entries(own).map(([key, text]) => [key, base64(text)] as const);
  const metadata = { name: "any", uid: "u", resourceVersion: "1" };
  const { caBundle = base64(own["tls.crt"]), path = "/clusters/local/admission/evictions/token-0123456789" } = tweak;
  const webhooks = [{ name: "evictions.lifeboat.dev", clientConfig: { caBundle, service: { path } } }];
  return {
    cluster: "local",
    secret: ServerSecret.parse({ metadata: { ...metadata, annotations }, data: Object.fromEntries(encoded) }),
    webhooks: { evictions: WebhookConfiguration.parse({ metadata, webhooks }), deletions: undefined },
  };
}

export function configuration(spec: unknown = {}, tweak: Readonly<Record<string, string | number>> = {}) {
  const usual = { status: "True", reason: "Fine", message: "all is well", lastTransitionTime: "2026-11-20T12:00:00Z" };
  const conditions = TYPES.map((type) => ({ type, ...usual, observedGeneration: 1, ...tweak }));
  return { value: { resourceVersion: "1", generation: 1, spec, conditions } };
}

export function token(tweak: Partial<TokenSecret> = {}) {
  return { name: "lifeboat-token-x7k2p", createdAt: "2026-11-01T12:00:00Z", isUsed: true, token: "t", ...tweak };
}

export const KUBEVIRT_KINDS = [
  "kubevirts",
  "virtualmachines",
  "virtualmachineinstances",
  "virtualmachineinstancemigrations",
];

export const LIFEBOAT_KINDS = ["evacuations", "nodeevacuations", "lifeboatconfigurations"];
export const WORKER = { base: "https://lifeboat.test", cluster: "prod" };

function read<T>(usual: Found<T>, found: Found<T> = usual): () => Promise<T> {
  return () =>
    "unread" in found ? Promise.reject(new Unread("something", found.unread)) : Promise.resolve(found.value);
}

const REVIEWERS = WebhookConfiguration.parse({
  metadata: { name: "virt-api-validator", uid: "u", resourceVersion: "1" },
  webhooks: [{ name: "any", rules: [{ operations: ["CREATE"], resources: ["pods/eviction"] }] }],
});

const CLOCK = { namespace: "kube-system", name: "kube-controller-manager", holdSeconds: 90 };
const PREEMPTIONS = ["PreemptionEvictionLiveMigration"] as const;
export const SITE: GuardSite = {
  kubevirtNamespace: "kubevirt",
  featureGates: PREEMPTIONS,
  requesters: ["system:kube-scheduler"],
  nodeTerminators: [],
  clock: CLOCK,
};

export function objectsOf(site = SITE): Installed {
  return new Map(SHIPPED.map((one) => [idOf(one), fitPolicy(one, site)]));
}

const NOTHING = { value: undefined };
const TRIAL = { pod: "apps/virt-launcher-web", code: 201, message: "", warnings: '299 - "Lifeboat answers: allowed"' };

/** Returns the reads of a healthy cluster. `tweak` replaces some of their results. */
export function reads(tweak: Tweak = {}): DoctorReads {
  return {
    now: NOW,
    context: "jane@prod",
    server: "https://api.prod",
    version: read({ value: { text: "1.36.2", minor: 36 } }, tweak.version),
    kubevirtKinds: read({ value: KUBEVIRT_KINDS }, tweak.kubevirtKinds),
    lifeboatKinds: read({ value: LIFEBOAT_KINDS }, tweak.lifeboatKinds),
    kubevirt: read(kubevirt(), tweak.kubevirt),
    reviewers: read({ value: REVIEWERS.webhooks }, tweak.reviewers),
    configuration: read(configuration(), tweak.configuration),
    evictionWebhook: read({ value: WORKER }, tweak.evictionWebhook),
    guardWebhook: read(NOTHING, tweak.guardWebhook),
    holdPolicies: read({ value: new Set() }, tweak.holdPolicies),
    guardSite: read({ value: SITE }, tweak.guardSite),
    policyObjects: read({ value: objectsOf() }, tweak.policyObjects),
    holdLease: read(
      { value: { namespace: "kube-system", name: "kube-controller-manager", state: "Renewed" } },
      tweak.holdLease,
    ),
    schedulers: read({ value: ["system:kube-scheduler"] }, tweak.schedulers),
    launcherPods: read({ value: { pods: [pod()], vmis: [vmi()] } }, tweak.launcherPods),
    nodeEvacuations: read({ value: [] }, tweak.nodeEvacuations),
    granted: read({ value: GRANTED.map((one) => ({ ...one, allowed: true })) }, tweak.granted),
    trial: read({ value: TRIAL }, tweak.trial),
    relay: read(NOTHING, tweak.relay),
    inside: read(NOTHING, tweak.inside),
    identity: read({ value: fitting() }, tweak.identity),
    site: read(NOTHING, tweak.site),
    policy: read({ value: { ok: false, problems: [{ field: "ConfigMap", message: "expected" }] } }, tweak.policy),
    tokens: read({ value: [token()] }, tweak.tokens),
  };
}

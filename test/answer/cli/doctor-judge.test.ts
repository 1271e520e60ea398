/** Tests each check of `lifeboat doctor`, with one row for each possible fault. */
import { started } from "../../support/maintenance/worlds.ts";
import { describe, expect, test } from "vitest";
import { examine, worstStatus } from "../../../infra/cli/doctor/doctor.ts";
import { GRANTED } from "../../../infra/cli/doctor/reads.ts";
import { makeCertificate } from "../../../infra/cli/install/make-certificate.ts";
import { createAuthority } from "../../../infra/sandbox/index.ts";
import { HOST } from "../../../infra/server/names.ts";
import { hotplug, owner, pod, vmi } from "../../support/fixtures.ts";
import * as facts from "./doctor-facts.ts";

const { base64, configuration, fitting, kubevirt, reads, token, UNREAD, WORKER } = facts;
type Together = facts.Together;
type Tweak = facts.Tweak;

const NO_TOKEN =
  "no Secret holds a token of Lifeboat's account: the Worker's token was revoked, or is a bound token, which expires: without a valid token, Lifeboat can neither read nor move anything";

type Row = readonly [what: string, tweak: Tweak, said: readonly string[]];

const MARKS = { ok: "√", warning: "‼", unread: "?", failed: "×" } as const;

async function trouble(tweak: Tweak): Promise<readonly string[]> {
  const checks = (await examine(reads(tweak))).filter(({ status }) => status !== "ok");
  return checks.map(({ status, message, reasons = [] }) => `${MARKS[status]} ${message}: ${reasons.join("; ")}`);
}

test("a healthy cluster has no problem", async () => {
  expect(await trouble({})).toEqual([]);
  expect(worstStatus(await examine(reads()))).toBe("ok");
});

const UNREPORTED = { value: { resourceVersion: "1", generation: 1, spec: {}, conditions: [] } };
const gates = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true]));
const PREEMPTION = "PreemptionEvictionLiveMigration";
const PRESSURE = "NodePressureEvictionLiveMigration";
const GUARDING = configuration({ featureGates: gates(PREEMPTION) });
const RELAY = { value: { wanted: 2, available: 2, message: "" } };
const SITE = { value: { LIFEBOAT_URL: "https://lifeboat.test/", LIFEBOAT_CLUSTER: "prod" } };
const GUARD = { guardWebhook: { value: WORKER } };
const holdPolicies = { value: new Set(["lifeboat-hold-preemption", "lifeboat-launchers"] as const) };
const GUARDED = { ...GUARD, holdPolicies, configuration: GUARDING, relay: RELAY, site: SITE };
const LEASE = (state: "Missing" | "Stopped") =>
  ({ value: { namespace: "kube-system", name: "kube-controller-manager", state } }) as const;
const SERVICE = { value: { base: undefined, cluster: undefined } };
const lacking = (resource: string) => ({
  value: GRANTED.map((one) => ({ ...one, allowed: one.resource !== resource })),
});
const without = (...files: readonly string[]) => ({
  value: GRANTED.map((one) => ({ ...one, allowed: !files.includes(one.file) })),
});
const answer = (code: number, message: string, warnings = "") => ({
  trial: { value: { pod: "apps/p", code, message, warnings } },
});
const NOT_ANSWERED = answer(429, 'admission webhook "kubevirt" denied the request: Eviction triggered');
const DENIED = 'admission webhook "evictions.lifeboat.dev" denied the request:';

const INSIDE = { inside: RELAY, evictionWebhook: SERVICE };

// prettier-ignore
const KUBERNETES: readonly Row[] = [
  ["an API server that is too old is a problem",       { version: { value: { text: "1.30.1", minor: 30 } } },        ["× the API server is 1.30.1, too old (needs 1.33): Lifeboat does not support older versions, and is not tested with them"]],
];

// prettier-ignore
const KUBEVIRT: readonly Row[] = [
  ["a missing KubeVirt object is a problem",             { kubevirt: { value: undefined } },                          ["× there is no KubeVirt object: without a KubeVirt object, KubeVirt's operator installs nothing"]],
  ["a KubeVirt that is too old is a problem",            { kubevirt: kubevirt({ version: "v1.6.3", facts: { namespace: "kubevirt", featureGates: [], minor: 6 } }) }, ["× KubeVirt is v1.6.3, too old (needs 1.7): Lifeboat does not support older versions, and is not tested with them"]],
  ["an unknown eviction strategy is a problem",          { kubevirt: kubevirt({ facts: { namespace: "kubevirt", featureGates: [], evictionStrategy: "Perhaps" } }) },  ["× the cluster's eviction strategy is Perhaps: Lifeboat does not know this strategy, and therefore refuses evictions of VMs"]],
  ["a webhook of KubeVirt that fails open is a warning", { reviewers: { value: [] } },                                ["‼ KubeVirt's own eviction webhook (virt-api-validator) does not fail closed: while KubeVirt's webhook does not answer, only Lifeboat's webhook and budgets protect VMs"]],
];

// prettier-ignore
const LIFEBOAT: readonly Row[] = [
  ["kinds of an older version are a problem",                         { lifeboatKinds: { value: [] } },                            ["× lifeboat.dev/v1alpha1: evacuations, nodeevacuations, lifeboatconfigurations not served: while Lifeboat cannot read these kinds, it refuses every eviction of a VM"]],
  ["conditions that no full scan has reported yet are a warning",     { configuration: UNREPORTED },                               [expect.stringMatching(/^‼ not reported yet: Valid, Permitted, WebhookCalled, ReviewsDecided, CredentialsValid: no full scan/)]],
  ["a missing permission is a problem",                               { granted: lacking("pods/eviction") },                       [expect.stringMatching(/^× Lifeboat lacks 1 permission of rbac\.yaml: create pods\/eviction: no VM gets an evacuationNodeName/)]],
  ["a NodeEvacuation in progress is no problem",                      { nodeEvacuations: { value: [started()] } },                   []],
  ["a NodeEvacuation without the component maintenance is a problem", { nodeEvacuations: { value: [started()] }, granted: without("kubernetes/optional/maintenance/maintenance.yaml") }, [expect.stringMatching(/^× Lifeboat lacks 7 permissions of optional\/maintenance\/maintenance\.yaml/)]],
  ["a blocked NodeEvacuation is a warning",                           { nodeEvacuations: { value: [started({ status: { phase: "Blocked", message: "m" } })] } }, ["‼ NodeEvacuation kernel of node node01 is blocked: m"]],
  ["a guard that refuses nothing is a warning",                       GUARD,                                                      ["‼ the guard is installed and refuses nothing: none of the guard's feature gates is on"]],
  ["descheduling without a policy is a problem",                      { configuration: configuration({ featureGates: gates("EvictionsInBackground") }) }, ["× Lifeboat's descheduler evicts no pod: its policy is missing or wrong: ConfigMap: expected"]],
  ["a guard without its policies is a problem",                       { ...GUARD, configuration: GUARDING, relay: RELAY, site: SITE }, [expect.stringMatching(/^× the guard's policies are missing: policies do not exist: lifeboat-hold-preemption, lifeboat-launchers/)]],
  ["a policy without its gate is a problem",                          { holdPolicies }, [expect.stringMatching(/^× a policy of the guard exists although its feature gate is off: policies refuse deletions although their feature gates are off: lifeboat-hold-preemption, lifeboat-launchers/)]],
  ["a complete guard is no problem",                                  GUARDED, []],
  ["a policy for another scheduler is a problem",                     { ...GUARDED, schedulers: { value: ["scheduler"] }, guardSite: { value: { ...facts.SITE, requesters: ["scheduler"] } } }, [
    expect.stringMatching(/^× ValidatingAdmissionPolicy lifeboat-hold-preemption does not fit .*deletions-that-do-not-ask.expression is .*'system:kube-scheduler'\], and should be .*'scheduler'\]$/),
  ]],
  ["a policy for another namespace of KubeVirt is a problem",       { ...GUARDED, guardSite: { value: { ...facts.SITE, kubevirtNamespace: "cnv" } } }, [expect.stringMatching(/^× ValidatingAdmissionPolicy lifeboat-launchers does not fit .*not-kubevirt.* should be .*:cnv:kubevirt-controller'$/)]],
  ["a policy for another Lease or hold is a problem",   { ...GUARDED, guardSite: { value: { ...facts.SITE, clock: { namespace: "kube-system", name: "apiserver-x", holdSeconds: 80 } } } }, [
    expect.stringMatching(/^× ValidatingAdmissionPolicy lifeboat-hold-preemption does not fit .*duration\('80s'\)\)$/),
    expect.stringMatching(/^× ValidatingAdmissionPolicyBinding lifeboat-hold-preemption does not fit .*paramRef.name is kube-controller-manager, and should be apiserver-x$/),
  ]],
  ["a Lease that was deleted is a problem",     { ...GUARDED, guardSite: { value: { ...facts.SITE, clock: undefined } } }, [
    expect.stringMatching(/^‼ ValidatingAdmissionPolicy lifeboat-hold-preemption does not fit this cluster: no Lease/),
    expect.stringMatching(/^‼ ValidatingAdmissionPolicyBinding lifeboat-hold-preemption does not fit this cluster: no Lease/),
  ]],
  ["a Lease that never existed is a problem",               { ...GUARDED, holdLease: LEASE("Missing") }, [expect.stringMatching(/^× Lease kube-system\/kube-controller-manager does not exist: policy lifeboat-hold-preemption .* allows preemptions of VMs.*--leader-elect=false, kube-controller-manager has no Lease$/)]],
  ["a Lease that is not renewed any more is a problem",     { ...GUARDED, holdLease: LEASE("Stopped") }, [expect.stringMatching(/^× Lease kube-system\/kube-controller-manager is not renewed any more: /)]],
  ["a scheduler that the guard does not know is a warning", { ...GUARDED, schedulers: { value: ["system:kube-scheduler", "system:serviceaccount:batch:volcano"] } }, ["‼ the guard does not refuse preemptions by system:serviceaccount:batch:volcano: these accounts can bind and delete pods, and guard.requesters does not list them: if they schedule pods, add them to guard.requesters"]],
  ["another scheduler without the guard is no problem",     { schedulers: { value: ["other"] } }, []],
  ["schedulers that cannot be read are unknown",            { ...GUARDED, schedulers: UNREAD }, ["? something could not be read: it is forbidden"]],
  ["a Lease that cannot be read is unknown",                { ...GUARDED, guardSite: UNREAD }, ["? something could not be read: it is forbidden"]],
  ["a binding whose policy is gone is a problem",           { ...GUARDED, policyObjects: { value: new Map() } }, expect.arrayContaining([expect.stringMatching(/^× ValidatingAdmissionPolicy lifeboat-launchers is missing/)])],
  ["a forged launcher pod is a warning",                    { ...GUARDED, launcherPods: { value: { pods: [pod(), pod({ name: "forged", uid: "other" })], vmis: [vmi()] } } }, [expect.stringMatching(/^‼ 1 pod has a launcher's labels, but KubeVirt did not create it: .*apps\/forged$/)]],
  ["a launcher pod in another namespace is a warning",      { ...GUARDED, launcherPods: { value: { pods: [pod({ namespace: "other" })], vmis: [vmi()] } } }, [expect.stringMatching(/^‼ 1 pod has a launcher's labels.*other\/virt-launcher/)]],
  ["a forged launcher pod that has ended is no problem",    { ...GUARDED, launcherPods: { value: { pods: [pod({ uid: "other", phase: "Succeeded" })], vmis: [vmi()] } } }, []],
  ["a forged hotplug pod is a warning",                     { ...GUARDED, launcherPods: { value: { pods: [hotplug(), hotplug({ name: "forged", owners: [owner({ uid: "other" })] })], vmis: [vmi()] } } }, [expect.stringMatching(/^‼ 1 pod has a launcher's labels.*apps\/forged$/)]],
];

const TYPES = ["Valid", "Permitted", "WebhookCalled", "ReviewsDecided", "CredentialsValid", "CertificateValid"];
const ofEach = (mark: string, said: string) => TYPES.map((type) => `${mark} condition ${type} is ${said}`);

// prettier-ignore
const CONDITIONS: readonly Row[] = [
  ["False is a problem",   { configuration: configuration({}, { status: "False", message: "broken" }) },     ofEach("×", "False (Fine) for 3d: broken")],
  ["Unknown is a warning", { configuration: configuration({}, { status: "Unknown", message: "not seen" }) }, ofEach("‼", "Unknown (Fine) for 3d: not seen")],
  ["ExpiresSoon",          { configuration: configuration({}, { reason: "ExpiresSoon", message: "soon" }) }, ofEach("‼", "True (ExpiresSoon) for 3d: soon")],
];

// prettier-ignore
const TRIAL: readonly Row[] = [
  ["a refusal by Lifeboat is no problem",               answer(429, `${DENIED} Eviction triggered evacuation of VMI "apps/web"`), []],
  ["an undecided answer of Lifeboat is a problem",      answer(429, `${DENIED} cannot decide on the eviction of pod "apps/p", try again: the API server cannot be reached`), ['× a dry-run eviction of pod apps/p: the API server asks Lifeboat, but Lifeboat cannot decide: cannot decide on the eviction of pod "apps/p", try again: the API server cannot be reached']],
  ["a refusal by KubeVirt alone is a problem",          answer(429, 'admission webhook "kubevirt" denied the request: Eviction triggered'), [expect.stringMatching(/^× .* is not answered by Lifeboat: 429: .*only webhook kubevirt has refused the eviction/)]],
  ["an eviction that would pass is a problem",          answer(201, ""),                                             [expect.stringMatching(/^× .* is not answered by Lifeboat: 201; no webhook has refused the eviction/)]],
  ["a pod that is gone meanwhile is a warning",         answer(404, 'pods "p" not found'),                           ["‼ a dry-run eviction was not tried: pod apps/p was deleted before the trial"]],
  ["a missing webhook is a problem, even without a VM", { trial: { value: { pod: undefined, why: "there is none" } }, evictionWebhook: { value: undefined } }, ["× Lifeboat answers no eviction: webhook lifeboat is missing, so the API server does not ask Lifeboat"]],
  ["a cluster without a VM to try is a warning",        { trial: { value: { pod: undefined, why: "there is none" } } }, ["‼ a dry-run eviction was not tried: there is none"]],
];

// prettier-ignore
const RELAYS: readonly Row[] = [
  ["Lifeboat in the cluster is no problem",                             { inside: RELAY, tokens: { value: [] }, configuration: GUARDING, evictionWebhook: SERVICE, guardWebhook: SERVICE, holdPolicies }, []],
  ["Lifeboat in the cluster without its role is a problem",             { ...INSIDE, tokens: { value: [] }, granted: without("server/kubernetes/component/rbac.yaml") }, [expect.stringMatching(/^× Lifeboat lacks 21 permissions of server\/kubernetes\/component\/rbac.yaml: list pods: .*; and 13 more$/)]],
  ["Lifeboat in the cluster without an available replica is a problem", { ...INSIDE, inside: { value: { wanted: 2, available: 0, message: "" } }, tokens: { value: [] } }, ["× Lifeboat's Deployment, which includes the relay: 0 of 2 replicas are available: the replicas are not ready: each replica needs a first list for every watch. The logs say what is missing"]],
  ["node pressure without a relay is a problem",                        { configuration: configuration({ featureGates: gates(PRESSURE) }) }, ["× there is no relay: Lifeboat checks node pressure only every ten minutes, which is too late"]],
  ["a relay without an available replica is a problem",                 { relay: { value: { wanted: 2, available: 0, message: "image not found" } }, site: SITE }, ["× the relay: 0 of 2 replicas are available: image not found"]],
  ["a relay without permissions is a problem",                          { relay: RELAY, site: SITE, granted: without("relay/kubernetes/rbac.yaml") }, [expect.stringMatching(/^× Lifeboat lacks 16 permissions of relay\/kubernetes\/rbac.yaml: list pods: disruptions of pods are not reported; .*; and 8 more$/)]],
];

// prettier-ignore
const REST: readonly Row[] = [
  ["an old token is a warning",                                     { tokens: { value: [token({ createdAt: "2025-11-01T12:00:00Z" })] } }, ["‼ Lifeboat's token in Secret lifeboat-token-x7k2p is 387d old: the token never expires: replace it once a year, or use a token that expires"]],
  ["a revoked token is a problem",                                  { tokens: { value: [] }, ...NOT_ANSWERED },                  [expect.stringMatching(/only webhook kubevirt has refused the eviction/), `× ${NO_TOKEN}`]],
  ["a token that nobody uses is a warning",                         { tokens: { value: [token({ isUsed: false })] }, ...NOT_ANSWERED }, [expect.stringMatching(/does not accept the Worker.s token/), "‼ Lifeboat's token in Secret lifeboat-token-x7k2p has never been used: the Worker uses another token, or no token"]],
  ["a rotation in progress is a warning",                           { tokens: { value: [token(), token({ name: "lifeboat-token-2222", isUsed: false })] } }, ["‼ Lifeboat's token in Secret lifeboat-token-2222 has never been used: if a rotation is in progress, finish it; otherwise delete the Secret, because nothing needs its token"]],
  ["a Worker's token is no problem while the Worker is in use",     { inside: RELAY, tokens: { value: [token()] } }, []],
  ["a Worker's token is a warning once Lifeboat is in the cluster", { ...INSIDE, tokens: { value: [token()] } },               ["‼ Secret lifeboat-token-x7k2p holds a token of Lifeboat's account: the token does not expire, and nothing in the cluster needs it"]],
];

const OTHERS = await (await createAuthority("ours")).issue([HOST]);
const YOURS = { "tls.crt": OTHERS.certPem, "tls.key": OTHERS.keyPem };
const ENDING = await makeCertificate(HOST, {
  notBefore: new Date("2016-12-01T00:00:00Z"),
  notAfter: new Date("2026-12-24T00:00:00Z"),
});
const ENDED = await makeCertificate(HOST, {
  notBefore: new Date("2016-12-01T00:00:00Z"),
  notAfter: new Date("2026-11-01T00:00:00Z"),
});
const inside = (together: Together): Tweak => ({
  ...INSIDE,
  tokens: { value: [] },
  identity: { value: fitting(together) },
});
const APART = "× Secret lifeboat-server and Lifeboat's webhooks do not match: lifeboat: ";
const UNSERVED = "a new replica cannot serve, and running replicas keep their earlier certificate";

// prettier-ignore
const IDENTITY: readonly (readonly [string, Tweak, readonly string[], string | undefined])[] = [
  ["a complete Secret is no problem",                                 inside({}),                                          [], undefined],
  ["a missing Secret is a problem",                                   { ...INSIDE, tokens: { value: [] }, identity: { value: { ...fitting(), secret: undefined } } }, [`× there is no Secret lifeboat-server: ${UNSERVED}`], "lifeboat install"],
  ["a Secret without a token is a problem",                           inside({ data: { operatorToken: "" } }),             [`× Secret lifeboat-server has no operatorToken of at least 16 characters: ${UNSERVED}`], "lifeboat install"],
  ["the key of another certificate is a problem",                     inside({ data: { "tls.key": OTHERS.keyPem } }),      [`× Secret lifeboat-server has no tls.crt for lifeboat-server.lifeboat-system.svc with a matching tls.key: ${UNSERVED}`], "lifeboat install"],
  ["another token in the path is a problem",                          inside({ path: "/clusters/local/admission/evictions/old" }), [`${APART}the token in its path is not a webhookToken of this cluster`], "lifeboat install"],
  ["another cluster in the path is a problem",                        inside({ path: "/clusters/prod/admission/evictions/token-0123456789" }), [`${APART}its path is not /clusters/local/admission/evictions/TOKEN, where TOKEN is a webhookToken of this cluster`], "lifeboat install"],
  ["another caBundle is a problem",                                   inside({ caBundle: base64(OTHERS.certPem) }),        [`${APART}its caBundle does not trust the certificate that Lifeboat serves`], "lifeboat install"],
  ["another caBundle for an own certificate is a problem",            inside({ data: YOURS, caBundle: "" }),               [`${APART}its caBundle does not trust the certificate that Lifeboat serves`], "lifeboat install --ca-bundle FILE (FILE: the CA of your certificate)"],
  ["another caBundle for a certificate of cert-manager is a problem", inside({ data: YOURS, caBundle: "", annotations: { "cert-manager.io/certificate-name": "x" } }), [`${APART}its caBundle does not trust the certificate that Lifeboat serves`], "kubectl -n lifeboat-system describe certificate lifeboat-server; lifeboat install"],
  ["a certificate that ends soon is a warning",                       inside({ data: { "tls.crt": ENDING.certPem, "tls.key": ENDING.keyPem } }), [expect.stringMatching(/^‼ The certificate of Lifeboat's webhooks expires at 2026-12-24T00:00:00Z/)], "lifeboat install"],
  ["a certificate that has ended is a problem",                       inside({ data: { "tls.crt": ENDED.certPem, "tls.key": ENDED.keyPem } }), [expect.stringMatching(/^× The certificate of Lifeboat's webhooks expired at 2026-11-01T00:00:00Z/)], "lifeboat install"],
];

describe("Secret and webhooks in the cluster", () => {
  test.each(IDENTITY)("%s", async (_, tweak, said, fix) => {
    expect(await trouble(tweak)).toEqual(said);
    const wrong = (await examine(reads(tweak))).find(({ status }) => status !== "ok");
    expect(wrong?.fix).toBe(fix);
  });
});

describe.each([
  ["Kubernetes", KUBERNETES],
  ["KubeVirt", KUBEVIRT],
  ["Lifeboat", LIFEBOAT],
  ["its conditions", CONDITIONS],
  ["a dry-run eviction", TRIAL],
  ["the relay", RELAYS],
  ["credentials", REST],
])("%s", (_, rows) => {
  test.each(rows)("%s", async (_, tweak, said) => {
    expect(await trouble(tweak)).toEqual(said);
  });
});

describe("in the cluster", () => {
  // prettier-ignore
  test.each<[string, Tweak]>([
    ["conditions that no full scan has reported", { configuration: UNREPORTED }],
    ["a guard that refuses nothing",              GUARD],
    ["an undecided answer",                       answer(429, `${DENIED} cannot decide on the eviction of pod "apps/p", try again: the API server cannot be reached`)],
    ["no answer of Lifeboat",                     NOT_ANSWERED],
    ["no token in any Secret",                    { tokens: { value: [] }, ...NOT_ANSWERED }],
    ["a condition that is False",                 { configuration: configuration({}, { status: "False", message: "broken" }) }],
  ])("given %s, the doctor gives no advice that needs a Worker", async (_, tweak) => {
    const wrong = (await examine(reads({ ...INSIDE, ...tweak }))).filter(({ status }) => status !== "ok");
    expect(wrong).not.toEqual([]);
    const said = wrong.flatMap(({ message, reasons = [], fix = "" }) => [message, ...reasons, fix]).join("\n");
    expect(said).not.toMatch(/Worker|curl|your URL|\$LIFEBOAT|#rotate/);
  });
});

/**
 * Lists the reads of `lifeboat doctor`. `version` is missing, because the doctor stops if it cannot read the version.
 */
const READS = [
  "kubevirtKinds",
  "lifeboatKinds",
  "kubevirt",
  "reviewers",
  "configuration",
  "evictionWebhook",
  "guardWebhook",
  "holdPolicies",
  "nodeEvacuations",
  "granted",
  "trial",
  "relay",
  "tokens",
] as const;

test.each(READS)("%s that cannot be read is reported as unknown, and is no problem", async (field) => {
  const checks = await examine(reads({ [field]: UNREAD }));
  expect(worstStatus(checks)).toBe("unread");
  expect(checks.filter(({ status }) => status === "unread")[0]).toMatchObject({ reasons: ["it is forbidden"] });
});

/** Webhooks: their configurations and answers. */
import { get, post } from "../../requests.ts";
import { CLOSED, DELETIONS, EVICTIONS, Raw, type Respond, allow } from "../../webhook.ts";
import { type Scene, type Scenes, type Step, keep } from "../world.ts";
import { type Hooked, hooked, unhooked } from "./hooked.ts";
import { B, FID, budget, configMap, over, pod, runningPod, status } from "./objects.ts";
import { withVersionOf } from "./second.ts";

const denies =
  (status?: object): Respond =>
  (uid) => ({ uid, allowed: false, ...(status && { status }) });

const warns =
  (...warnings: readonly string[]): Respond =>
  (uid) => ({ uid, allowed: true, warnings });

const review = (more: object): string =>
  JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", ...more });

/** A scene with this webhook and this answer. */
const hook = (webhook: Hooked, respond: Respond, ...before: readonly Step[]): Scene => ({
  before: [...before, hooked({ namespace: "fid-b", ...webhook }, respond)],
});
const inFirst = (respond: Respond, webhook: Hooked = {}): Scene => ({
  before: [hooked({ namespace: "fid", ...webhook }, respond)],
});

const ignored = { failurePolicy: "Ignore" };
const nowhere = { clientConfig: { url: "https://127.0.0.1:1/none" } };
const when = (...expressions: readonly string[]): Hooked => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
});
const unknownField = when("object.spec.nope == 1");
const disrupted = when(
  "has(oldObject.status.conditions) && oldObject.status.conditions.exists(c, c.type == 'DisruptionTarget' && c.status == 'True')",
);
const target = [{ type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" }];

const FIRST: Scenes = {
  "hook denies with 429": {
    before: [
      post(`${FID}/pods`, pod("h1")),
      hooked({ namespace: "fid" }, denies({ code: 429, message: 'Eviction triggered evacuation of VMI "a/b"' })),
    ],
  },
  "hook denies with reason": inFirst(denies({ code: 429, reason: "TooManyRequests", message: "m" })),
  "hook denies without explanation": inFirst(denies()),
  "hook allows with a warning": inFirst(warns("careful")),
  "wrong uid, Fail": inFirst(() => ({ uid: "other", allowed: true })),
  "not JSON, Fail": inFirst(() => '"hello"'),
  "not JSON, Ignore": inFirst(() => '"hello"', ignored),
  "unreachable, Ignore": inFirst(allow, { ...nowhere, ...ignored }),
  "unreachable, Fail": inFirst(allow, nowhere),
  "matchConditions: error, Fail": inFirst(allow, unknownField),
  "matchConditions: error, Ignore": inFirst(denies({ message: "no" }), { ...unknownField, ...ignored }),
  "delete without the condition": inFirst(denies({ code: 429, message: "no" }), { rule: DELETIONS, ...disrupted }),
  "delete with the condition": { before: [status(`${FID}/pods/h1`, { conditions: target })] },
  "/api": { before: [unhooked] },
};

const no = denies({ code: 403, message: "no" });

const ANSWERS: Scenes = {
  "hook: denied, 403": hook({}, denies({ code: 403, message: "m" }), post(`${B}/pods`, pod("hp"))),
  "hook: denied, code 500": hook({}, denies({ code: 500, message: "m" })),
  "hook: denied, code 429 and seconds": hook(
    {},
    denies({ code: 429, message: "m", details: { retryAfterSeconds: 7 } }),
  ),
  "hook: denied, reason only": hook({}, denies({ reason: "Conflict" })),
  "hook: denied, an empty status": hook({}, denies({})),
  "hook: denied, message with newlines": hook({}, denies({ code: 429, message: 'a\nb "c" é' })),
  "hook: denied, status Success": hook({}, denies({ code: 429, message: "m", status: "Success" })),
  "hook: odd warnings": hook({}, warns("w".repeat(300), "", "two\nlines", 'q"q')),
  "hook: audit annotations": hook({}, (uid) => ({ uid, allowed: true, auditAnnotations: { key: "value" } })),
  "hook: no verdict": hook({}, (uid) => ({ uid })),
  "hook: no response": hook({}, () => review({})),
  "hook: another version": hook({}, (uid) =>
    review({ apiVersion: "admission.k8s.io/v1beta1", response: { uid, allowed: true } }),
  ),
  "hook: no kind": hook({}, (uid) => JSON.stringify({ response: { uid, allowed: true } })),
  "hook: HTTP 201": hook({}, (uid) => new Raw(201, { uid, allowed: true })),
  "hook: HTTP 204": hook({}, () => new Raw(204)),
  "hook: HTTP 400": hook({}, (uid) => new Raw(400, { uid, allowed: true })),
  "hook: HTTP 500": hook({}, (uid) => new Raw(500, { uid, allowed: true })),
  "hook: HTTP 503": hook({}, (uid) => new Raw(503, { uid, allowed: true })),
  "hook: connection closed": hook({}, () => CLOSED),
  "hook: an empty body": hook({}, () => "{}"),
  "hook: Ignore, HTTP 500": hook(ignored, (uid) => new Raw(500, { uid, allowed: true })),
  "hook: Ignore, no response": hook(ignored, () => review({})),
  "hook: Ignore, connection closed": hook(ignored, () => CLOSED),
  "hook: Ignore, a denial": hook(ignored, denies({ code: 429, message: "no" })),
  "hook: eviction of a missing pod": hook({}, allow),
  "hook: eviction refused by name": {
    before: [
      ...runningPod(B, "hp2", { app: "hp2" }),
      ...budget("fid-b", "hb", { minAvailable: 1, ...over({ app: "hp2" }) }, [1, 1, 0, 1]),
    ],
  },
  "hook: before the budget": hook({}, denies({ code: 429, message: "from the hook" })),
  "hook: allows, the budget does not": hook({}, warns("from the hook")),
};

const resources = (...names: readonly string[]): Hooked => ({ rule: { ...EVICTIONS, resources: names } });
const NAMESPACE = "kubernetes.io/metadata.name";

const MATCHING: Scenes = {
  "hook: namespaceSelector elsewhere": hook({ namespaceSelector: { matchLabels: { [NAMESPACE]: "fid" } } }, no),
  "hook: namespaceSelector by expression": hook(
    { namespaceSelector: { matchExpressions: [{ key: NAMESPACE, operator: "In", values: ["fid-b"] }] } },
    no,
  ),
  "hook: scope Cluster": hook({ rule: { ...EVICTIONS, scope: "Cluster" } }, no),
  "hook: resources */*": hook(resources("*/*"), no),
  "hook: resources pods/*": hook(resources("pods/*"), no),
  "hook: group policy": hook({ rule: { ...EVICTIONS, apiGroups: ["policy"] } }, no),
  "hook: condition: userInfo": hook(when("'system:authenticated' in request.userInfo.groups"), no),
  "hook: condition: object": hook(when("object.kind == 'Eviction' && object.metadata.name == 'hp'"), no),
  "hook: condition: optional of what is missing": hook(
    when("object.?metadata.?labels[?'kubevirt.io'].orValue('none') == 'none'"),
    no,
  ),
  "hook: condition: options": hook(when("request.options.kind == 'CreateOptions'"), no),
  "hook: condition: resource": hook(
    when("request.resource.resource == 'pods' && request.subResource == 'eviction'"),
    no,
  ),
  "hook: condition: regular expression": hook(when("request.name.matches('^h.$')"), no),
  "hook: condition: not met": hook(when("request.name == 'other'"), no),
  "hook: conditions: false beats an error": hook(when("object.spec.nope == 1", "false"), no),
};

const rule = (operation: string, resource: string): Hooked => ({
  rule: { operations: [operation], resources: [resource] },
});
const tea = denies({ code: 418, message: "tea" });

const OTHERS: Scenes = {
  "configuration refused? bad CEL": { before: [unhooked] },
  "hook: one deletion": {
    ...hook(
      rule("DELETE", "configmaps"),
      allow,
      post(`${B}/configmaps`, configMap("hd1")),
      keep("hd1", get(`${B}/configmaps/hd1`)),
    ),
    asks: withVersionOf("hd1"),
  },
  "hook: a refused deletion": hook(
    rule("DELETE", "configmaps"),
    denies({ code: 403, message: "stay" }),
    post(`${B}/configmaps`, configMap("hd2")),
  ),
  "hook: exec": hook(rule("CONNECT", "pods/exec"), tea),
  "hook: binding": hook(rule("CREATE", "pods/binding"), tea),
  "hook: status": hook(rule("UPDATE", "pods/status"), tea),
};

const patched =
  (...operations: readonly object[]): Respond =>
  (uid) => ({ uid, allowed: true, patchType: "JSONPatch", patch: encoded(operations) });
const mutating: Hooked = { kind: "Mutating", rule: { operations: ["CREATE"], resources: ["configmaps"] } };

function encoded(operations: readonly object[]): string {
  return Buffer.from(JSON.stringify(operations)).toString("base64");
}

const MUTATIONS: Scenes = {
  "mutate: a patch": hook(mutating, patched({ op: "add", path: "/data/b", value: "2" })),
  "mutate: its test fails": hook(mutating, patched({ op: "test", path: "/data/a", value: "9" })),
  "mutate: no patchType": hook(mutating, (uid) => ({ uid, allowed: true, patch: encoded([]) })),
  "mutate: denies": hook(mutating, denies({ message: "no" })),
  "policy: met": { before: [unhooked] },
};

export const WEBHOOKS: Scenes = { ...FIRST, ...ANSWERS, ...MATCHING, ...OTHERS, ...MUTATIONS };

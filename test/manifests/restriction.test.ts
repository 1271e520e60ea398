/**
 * The optional ValidatingAdmissionPolicy, on what an API server is really asked for: its expressions are evaluated with a
 * CEL library, on the reviews that a webhook gets of the same requests.
 */
import { Environment } from "@marcbachmann/cel-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { createAuthority } from "../../infra/sandbox/certificates.ts";
import * as names from "../../shared/policy/names.ts";
import { openDoors } from "../functions/support/doors.ts";
import { configure, NAMESPACE, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";
import { DEEDS } from "./deeds.ts";
import { type ReviewRecorder, startReviewRecorder, type ReviewRequest } from "./review-recorder.ts";
import { readManifests } from "./shipped.ts";
import { tidy } from "./situations.ts";

const FILES = ["descheduler-support", "descheduling", "guard", "marking-by-eviction"].map(
  (name) => `optional/${name}.yaml`,
);
const ACCOUNT = "system:serviceaccount:lifeboat-system:lifeboat";

const configurations: core.Resource<core.KubeObject & { webhooks: unknown }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

const Expression = z.object({ expression: z.string() });
const [policy, binding] = readManifests("optional/restriction.yaml");
const spec = z
  .object({
    failurePolicy: z.literal("Fail"),
    matchConstraints: z.object({
      resourceRules: z.array(z.object({ operations: z.array(z.string()), resources: z.array(z.string()) })),
    }),
    matchConditions: z.array(Expression),
    variables: z.array(z.extend(Expression, { name: z.string() })),
    validations: z.array(z.extend(Expression, { message: z.string() })),
  })
  .parse(policy?.["spec"]);

const environment = new Environment({ enableOptionalTypes: true });
for (const name of ["object", "oldObject", "request", "variables"]) environment.registerVariable(name, "dyn");

/** What is refused, and why; nothing if it is allowed. An error refuses, as the failure policy says. */
function refusals(request: ReviewRequest): readonly string[] {
  const { object, oldObject } = request;
  const variables = {};
  const evaluate = (expression: string) => environment.evaluate(expression, { object, oldObject, request, variables });
  if (!spec.matchConditions.every(({ expression }) => evaluate(expression) === true)) return [];
  for (const { name, expression } of spec.variables) {
    Object.defineProperty(variables, name, { enumerable: true, get: () => evaluate(expression) });
  }
  return spec.validations.filter(({ expression }) => evaluate(expression) !== true).map(({ message }) => message);
}

let cluster: TestCluster;
let recorder: ReviewRecorder;
beforeAll(async () => {
  cluster = await startTestCluster(FILES);
  const authority = await createAuthority("recorder");
  recorder = await startReviewRecorder(authority);
  const clientConfig = { url: `${recorder.url}/`, caBundle: Buffer.from(authority.caPem).toString("base64") };
  const rules = spec.matchConstraints.resourceRules.map((rule) => ({ ...rule, apiGroups: [""], apiVersions: ["v1"] }));
  const webhook = {
    name: "recorder.lifeboat.dev",
    clientConfig,
    rules,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
  };
  const head = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
  await cluster.client.create(configurations, { ...head, metadata: { name: "recorder" }, webhooks: [webhook] });
});
afterAll(async () => {
  await recorder.stop();
  await cluster.stop();
});
beforeEach(() => void (recorder.asked.length = 0));
afterEach(() => tidy(cluster));

test("it denies, and concerns one account", () => {
  expect(binding?.["spec"]).toEqual({ policyName: policy?.metadata.name, validationActions: ["Deny"] });
  expect(spec.matchConditions).toEqual([{ expression: `request.userInfo.username == '${ACCOUNT}'` }]);
});

test("its annotations are those that Lifeboat writes", () => {
  const [ours] = spec.variables;
  expect(environment.evaluate(ours?.expression ?? "", {})).toEqual([
    names.REQUEST_EVICT_ONLY_ANNOTATION,
    names.EVICTION_IN_PROGRESS_ANNOTATION,
    names.EVACUATION_REQUESTED_ANNOTATION,
  ]);
});

describe("what Lifeboat does to pods is allowed", () => {
  // prettier-ignore
  test.each<[keyof typeof DEEDS, readonly string[]]>([
    ["annotate a pod",    ["UPDATE"]],
    ["finish a deletion", ["DELETE"]],
    ["mark by eviction",  ["CREATE"]],
    ["deschedule",        ["UPDATE", "CREATE"]],
  ])("%s", async (deed, operations) => {
    const { configuration = {}, given, done } = DEEDS[deed];
    await configure(cluster.client, configuration);
    const doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
    await given?.({ cluster, doors });
    await done({ cluster, doors });
    const own = recorder.asked.filter((request) => JSON.stringify(request["userInfo"]).includes(`"${ACCOUNT}"`));
    expect([...new Set(own.map(({ operation }) => operation))]).toEqual(operations);
    expect(own.flatMap(refusals)).toEqual([]);
  });
});

const [ANNOTATIONS, REST, VMS_ONLY, UID_OF_DELETION, UID_OF_EVICTION] = spec.validations.map(({ message }) => message);

/** What somebody does to a pod called NAME with that UID. */
interface Deed {
  readonly method: "PATCH" | "DELETE" | "POST";
  /** Of the eviction. */
  readonly subresource?: string;
  readonly body: unknown;
  /** Of the pod, before. */
  readonly labels?: Readonly<Record<string, string>>;
}

const change = (metadata: object, spec = {}): Deed => ({ method: "PATCH", body: { metadata, spec } });
const annotate = (annotations: Readonly<Record<string, string | null>>) => change({ annotations });
const remove = (component: string, body: unknown = { preconditions: { uid: "UID" } }): Deed => {
  return { method: "DELETE", body, labels: { "kubevirt.io": component } };
};
const evict = (deleteOptions?: unknown): Deed => {
  const metadata = { namespace: NAMESPACE, name: "NAME" };
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata,
    ...(deleteOptions === undefined ? {} : { deleteOptions }),
  };
  return { method: "POST", subresource: "/eviction", body };
};
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "x" };

// prettier-ignore
const TABLE: readonly (readonly [string, Deed, readonly (string | undefined)[]])[] = [
  ["add an annotation of ours",              annotate({ [names.EVACUATION_REQUESTED_ANNOTATION]: "now" }), []],
  ["change one of ours",                     annotate({ [names.REQUEST_EVICT_ONLY_ANNOTATION]: "x" }),     []],
  ["remove one of ours",                     annotate({ [names.REQUEST_EVICT_ONLY_ANNOTATION]: null }),    []],
  ["change nothing",                         change({}),                                                   []],
  ["add another one",                        annotate({ other: "x" }),                                     [ANNOTATIONS]],
  ["change another one",                     annotate({ kept: "x" }),                                      [ANNOTATIONS]],
  ["remove another one",                     annotate({ kept: null }),                                     [ANNOTATIONS]],
  ["let any pod be evicted by a descheduler", annotate({ [names.EVICT_ANNOTATION]: "" }),                  [ANNOTATIONS]],
  ["one of ours and another one",            annotate({ [names.REQUEST_EVICT_ONLY_ANNOTATION]: "x", kept: "x" }), [ANNOTATIONS]],
  ["add a label",                            change({ labels: { "kubevirt.io": "virt-launcher" } }),       [REST]],
  ["remove a label",                         change({ labels: { app: null } }),                            [REST]],
  ["add an owner",                           change({ ownerReferences: [owner] }),                         [REST]],
  ["add a finalizer",                        change({ finalizers: ["example.com/x"] }),                    [REST]],
  ["run another image",                      change({}, { containers: [{ name: "c", image: "evil" }] }),   [REST]],
  ["another image, and a note of it",        change({ annotations: { other: "x" } }, { containers: [{ name: "c", image: "evil" }] }), [ANNOTATIONS, REST]],
  ["delete a launcher pod",                  remove("virt-launcher"),                                      []],
  ["delete a hotplug pod",                   remove("hotplug-disk"),                                       []],
  ["delete a launcher pod, whichever",       remove("virt-launcher", {}),                                  [UID_OF_DELETION]],
  ["delete a pod of KubeVirt itself",        remove("virt-api"),                                           [VMS_ONLY]],
  ["delete anybody's pod",                   { ...remove("x"), labels: { app: "db" } },                    [VMS_ONLY]],
  ["evict a pod",                            evict({ preconditions: { uid: "UID" } }),                     []],
  ["evict a pod, whichever",                 evict({ gracePeriodSeconds: 0 }),                             [UID_OF_EVICTION]],
  ["evict a pod without options",            evict(),                                                      [UID_OF_EVICTION]],
];

describe("with the account's token, somebody wants to", () => {
  let created = 0;

  async function asked(user: string, { method, subresource = "", body, labels = { app: "db" } }: Deed) {
    const key = { namespace: NAMESPACE, name: `victim-${++created}` };
    const annotations = { kept: "as it is", [names.REQUEST_EVICT_ONLY_ANNOTATION]: "" };
    const spec = { containers: [{ name: "c", image: "good" }] };
    const { metadata } = await cluster.client.create(core.pods, { metadata: { ...key, labels, annotations }, spec });
    recorder.asked.length = 0;
    const { code } = await cluster.client.as(user, ["system:masters"]).raw({
      method,
      path: `/api/v1/namespaces/${key.namespace}/pods/${key.name}${subresource}`,
      body: JSON.parse(JSON.stringify(body).replace('"UID"', `"${metadata.uid}"`).replace('"NAME"', `"${key.name}"`)),
      ...(method === "PATCH" ? { contentType: "application/strategic-merge-patch+json" } : {}),
    });
    expect(code).toBeLessThan(300);
    // The garbage collector has its own way with a pod whose owner is nobody.
    const own = recorder.asked.filter((review) => JSON.stringify(review["userInfo"]).includes(`"${user}"`));
    const [request, ...more] = own;
    if (request === undefined || more.length > 0) throw new Error(`${own.length} reviews`);
    return request;
  }

  test.each(TABLE)("%s", async (_, deed, expected) => {
    expect(refusals(await asked(ACCOUNT, deed))).toEqual(expected);
  });

  test("… and everybody else may do all of it", async () => {
    for (const [, deed] of TABLE.filter(([, , expected]) => expected.length > 0)) {
      expect(refusals(await asked("kubernetes-admin", deed))).toEqual([]);
    }
  });
});

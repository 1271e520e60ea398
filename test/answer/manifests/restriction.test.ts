/**
 * The optional ValidatingAdmissionPolicy: what the account may still do to pods, and what it may not.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { core, createAuthority } from "../../../infra/sandbox/index.ts";
import * as names from "../../../shared/kube/names.ts";
import { openDoors } from "../../support/doors.ts";
import { configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../../support/test-cluster.ts";
import { DEEDS } from "../../support/manifests/deeds.ts";
import { type ReviewRecorder, startReviewRecorder } from "./review-recorder.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { tidy } from "../../support/manifests/situations.ts";

const FILES = ["descheduler-support", "descheduling", "guard", "restriction"].map(
  (name) => `optional/${name}/${name}.yaml`,
);
const ACCOUNT = "system:serviceaccount:lifeboat-system:lifeboat";

const extension = { apiVersion: "admissionregistration.k8s.io/v1", namespaced: false };
const configurations: core.Resource<core.KubeObject & { webhooks: unknown }> = {
  ...extension,
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
};
const policies: core.Resource<core.KubeObject & { status?: unknown }> = {
  ...extension,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
};

const [policy] = readManifests("optional/restriction/restriction.yaml");
const spec = z
  .object({
    matchConstraints: z.object({
      resourceRules: z.array(z.object({ operations: z.array(z.string()), resources: z.array(z.string()) })),
    }),
    matchConditions: z.array(z.object({ expression: z.string() })),
    validations: z.array(z.object({ message: z.string() })),
  })
  .parse(policy?.["spec"]);

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

async function statusNow() {
  return (await cluster.client.get(policies, { name: policy?.metadata.name ?? "" }))?.status;
}

test("its expressions use no field that the matched kinds do not have", async () => {
  await expect.poll(statusNow).toEqual({ observedGeneration: 1, typeChecking: {} });
});

/** A webhook hears only of what the policies have let pass. */
describe("what Lifeboat does to pods is allowed", () => {
  // prettier-ignore
  test.each<[keyof typeof DEEDS, readonly string[]]>([
    ["annotate a pod",    ["UPDATE"]],
    ["finish a deletion", ["DELETE"]],
    ["relieve a node",    ["CREATE"]],
    ["deschedule",        ["CREATE"]],
  ])("%s", async (deed, operations) => {
    const { configuration = {}, given, done } = DEEDS[deed];
    await configureLifeboat(cluster.client, configuration);
    const doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
    await given?.({ cluster, doors });
    await done({ cluster, doors });
    const own = recorder.asked.filter((request) => JSON.stringify(request["userInfo"]).includes(`"${ACCOUNT}"`));
    expect([...new Set(own.map(({ operation }) => operation))]).toEqual(operations);
  });
});

const [ANNOTATIONS, REST, VMS_ONLY, UID_OF_DELETION, UID_OF_EVICTION] = spec.validations.map(({ message }) => message);

/** What a user does to a pod called NAME with that UID. */
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

// prettier-ignore
const TABLE: readonly (readonly [string, Deed, string | undefined])[] = [
  ["add an annotation of ours",              annotate({ [names.EVICTION_IN_PROGRESS_ANNOTATION]: "" }), undefined],
  ["add another one",                        annotate({ other: "x" }),                                     ANNOTATIONS],
  ["let any pod be evicted by a descheduler", annotate({ [names.EVICT_ANNOTATION]: "" }),                  ANNOTATIONS],
  ["add a label",                            change({ labels: { "kubevirt.io": "virt-launcher" } }),       REST],
  ["run another image",                      change({}, { containers: [{ name: "c", image: "evil" }] }),   REST],
  ["delete a launcher pod",                  remove("virt-launcher"),                                      undefined],
  ["delete a launcher pod, whichever",       remove("virt-launcher", {}),                                  UID_OF_DELETION],
  ["delete a pod of KubeVirt itself",        remove("virt-api"),                                           VMS_ONLY],
  ["evict a pod",                            evict({ preconditions: { uid: "UID" } }),                     undefined],
  ["evict a pod, whichever",                 evict({ gracePeriodSeconds: 0 }),                             UID_OF_EVICTION],
];

describe("with the account's token, a user wants to", () => {
  let created = 0;

  async function answerTo(user: string, { method, subresource = "", body, labels = { app: "db" } }: Deed) {
    const key = { namespace: NAMESPACE, name: `victim-${++created}` };
    const annotations = { kept: "as it is", [names.REQUEST_EVICT_ONLY_ANNOTATION]: "" };
    const spec = { containers: [{ name: "c", image: "good" }] };
    const { metadata } = await cluster.client.create(core.pods, { metadata: { ...key, labels, annotations }, spec });
    const { code, body: answer } = await cluster.client.as(user, ["system:masters"]).raw({
      method,
      path: `/api/v1/namespaces/${key.namespace}/pods/${key.name}${subresource}`,
      body: JSON.parse(JSON.stringify(body).replace('"UID"', `"${metadata.uid}"`).replace('"NAME"', `"${key.name}"`)),
      ...(method === "PATCH" ? { contentType: "application/strategic-merge-patch+json" } : {}),
    });
    const { message = "" } = z.object({ message: z.optional(z.string()) }).parse(answer);
    return code < 300 ? undefined : message.replace(/^.* denied request: /, "");
  }

  test.each(TABLE)("%s", async (_, deed, expected) => {
    expect(await answerTo(ACCOUNT, deed)).toBe(expected);
  });

  test("… and another account may do all of it", async () => {
    for (const [, deed] of TABLE.filter(([, , expected]) => expected !== undefined)) {
      expect(await answerTo("kubernetes-admin", deed)).toBeUndefined();
    }
  });
});

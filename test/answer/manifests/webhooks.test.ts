/** The shipped webhook configurations in an API server: which evictions and deletions it sends to Lifeboat, and which not. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pods, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { applyLifeboat } from "../../../infra/lab/stage/apply.ts";
import { type ReviewRecorder, startReviewRecorder } from "./review-recorder.ts";

const TOKEN = "token";
let sandbox: Sandbox;
let webhook: ReviewRecorder;

beforeAll(async () => {
  // Without nodes only the tests delete pods.
  sandbox = await startSandbox({ terminationSeconds: 0 });
  webhook = await startReviewRecorder(sandbox.authority);
  const site = { url: webhook.url, webhookToken: TOKEN, caPem: sandbox.caPem };
  await applyLifeboat(sandbox.client, { ...site, optional: ["optional/guard/guard.yaml"] });
});
afterAll(async () => {
  await webhook.stop();
  await sandbox.stop();
});
beforeEach(() => {
  webhook.asked.length = 0;
});

interface Labelled {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Resolves to its path. */
async function createPod(name: string, { namespace = "default", labels }: Labelled = {}): Promise<string> {
  const spec = { containers: [{ name: "c", image: "example.com/c" }] };
  await sandbox.client.create(pods, { metadata: { namespace, name, ...(labels && { labels }) }, spec });
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/** Names, and for a deletion the door as well. A pod that ends at once is marked first and then deleted: both are asked about. */
const asked = () => [...new Set(webhook.asked.map(({ operation, name, path }) => `${operation} ${name} at ${path}`))];

async function evict(path: string, query = ""): Promise<readonly string[]> {
  const [, namespace, name] = /namespaces\/(.*)\/pods\/(.*)/.exec(path) ?? [];
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  expect((await sandbox.client.raw({ method: "POST", path: `${path}/eviction${query}`, body })).code).toBe(201);
  return asked();
}

const eviction = (name: string) => [`CREATE ${name} at /admission/evictions/${TOKEN}`];
const deletion = (name: string) => [`DELETE ${name} at /admission/deletions/${TOKEN}`];

describe("an eviction of a pod named", () => {
  // prettier-ignore
  test.each<[string, boolean]>([
    ["virt-launcher-web-abcde",  true ],
    ["hp-volume-fghij",          true ],
    ["web-abcde",                false],
  ])("%s is sent: %s", async (name, sent) => {
    expect(await evict(await createPod(name))).toEqual(sent ? eviction(name) : []);
  });
});

test("no namespace is exempt", async () => {
  const name = "virt-launcher-system-abcde";
  expect(await evict(await createPod(name, { namespace: "kube-system" }))).toEqual(eviction(name));
});

const SCHEDULER = "system:kube-scheduler";
const LAUNCHER = { "kubevirt.io": "virt-launcher" };
let created = 0;

interface Deletion {
  readonly query?: string;
  /** Of the pod. */
  readonly status?: object | undefined;
}

/** Of a new pod; resolves to whether the API server asked at the guard's door, and nowhere else. */
async function isSent(
  user: string,
  labels: Labelled["labels"],
  { query = "", status }: Deletion = {},
): Promise<boolean> {
  const name = `virt-launcher-${++created}`;
  const path = await createPod(name, { labels });
  const patch = { type: "merge", body: { status } } as const;
  if (status) await sandbox.client.patch(pods, { namespace: "default", name }, patch, { subresource: "status" });
  const client = sandbox.client.as(user, ["system:masters", "system:authenticated"]);
  expect((await client.raw({ method: "DELETE", path: `${path}${query}` })).code).toBe(200);
  if (asked().length > 0) expect(asked()).toEqual(deletion(name));
  return asked().length > 0;
}

describe("a launcher pod deleted by", () => {
  // prettier-ignore
  const rows: readonly [string, boolean][] = [
    [SCHEDULER,                                                     true ],
    ["system:serviceaccount:kube-system:node-controller",           true ],
    ["system:serviceaccount:kube-system:taint-eviction-controller", true ],
    ["system:serviceaccount:kube-system:device-taint-eviction-controller", true ],
    ["system:serviceaccount:kube-system:karpenter",                 true ],
    ["system:serviceaccount:karpenter:karpenter",                   true ],
    ["kubernetes-admin",                                            false],
    ["system:kube-controller-manager",                              false],
    ["system:serviceaccount:kube-system:namespace-controller",      false],
    ["system:serviceaccount:lifeboat-system:lifeboat",              false],
    ["system:serviceaccount:default:node-controller",               false],
  ];
  test.each(rows)("%s is sent: %s", async (user, sent) => {
    expect(await isSent(user, LAUNCHER)).toBe(sent);
  });
});

describe("the scheduler deletes a pod labelled", () => {
  // prettier-ignore
  test.each<[Labelled["labels"], boolean]>([
    [LAUNCHER,                              true ],
    [{ "kubevirt.io": "hotplug-disk" },     true ],
    [{ "kubevirt.io": "virt-api" },         false],
    [{},                                    false],
    // An expression that fails would skip the webhook unseen, or with another failurePolicy forbid the deletion.
    [undefined,                             false],
  ])("%j: %s", async (labels, sent) => {
    expect(await isSent(SCHEDULER, labels)).toBe(sent);
  });
});

const ready = (status: string, reason?: string) => ({ type: "Ready", status, ...(reason && { reason }) });

/** Upstream: pkg/kubelet/status/generate.go gives a reason, MarkPodsNotReady of pkg/controller/util/node gives none. */
describe("the taint manager deletes a launcher pod that is", () => {
  const disrupted = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" };
  const contained = { type: "ContainersReady", status: "True" };
  // prettier-ignore
  test.each<[string, readonly object[] | undefined, boolean]>([
    ["ready",                                          [contained, ready("True"), disrupted],                                   true ],
    ["not ready, because its guest is not",            [ready("False", "ContainersNotReady"), disrupted],                       true ],
    ["not ready, because its node is lost",            [contained, ready("False"), disrupted],                                  false],
    ["without a status",                               undefined,                                                               true ],
  ])("%s", async (_, conditions, sent) => {
    const status = conditions && { conditions };
    expect(await isSent("system:serviceaccount:kube-system:taint-eviction-controller", LAUNCHER, { status })).toBe(sent);
  });
});

test("with Lifeboat down, evictions and deletions go through", async () => {
  const path = await createPod("virt-launcher-alone");
  await webhook.stop();
  expect(await evict(path)).toEqual([]);
  expect(await isSent(SCHEDULER, LAUNCHER)).toBe(false);
  webhook = await startReviewRecorder(sandbox.authority);
});

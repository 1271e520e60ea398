import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pods, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat } from "../../infra/tools/apply.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";
import { defaultConfiguration } from "../../shared/config/lifeboat-configuration.ts";
import { startReviewRecorder, type ReviewRecorder } from "./review-recorder.ts";

/** The shipped guard in an API server: which deletions it sends to Lifeboat, and which never wait for it. */
const namespace = "default";
const SCHEDULER = "system:kube-scheduler";
let sandbox: Sandbox;
let webhook: ReviewRecorder;

beforeAll(async () => {
  // Without nodes nobody deletes pods but the test.
  sandbox = await startSandbox({ terminationSeconds: 0 });
  webhook = await startReviewRecorder(sandbox.authority);
  const site = { url: `${webhook.url}/admission/evictions`, caPem: sandbox.authority.caPem };
  await applyLifeboat(sandbox.client, { ...site, optional: ["optional/guard.yaml", "optional/migration-policy.yaml"] });
});
afterAll(async () => {
  await webhook.stop();
  await sandbox.stop();
});
beforeEach(() => {
  webhook.asked.length = 0;
});

let created = 0;

/** Deletes a new pod and resolves to the doors at which the API server asked. */
async function deleteAs(
  user: string,
  labels: Record<string, string> | undefined,
  path = "",
): Promise<readonly string[]> {
  const name = `pod-${++created}`;
  await sandbox.client.create(pods, {
    metadata: { namespace, name, ...(labels && { labels }) },
    spec: { containers: [{ name: "c", image: "example.com/c" }] },
  });
  const client = sandbox.client.as(user, ["system:masters", "system:authenticated"]);
  const answer = await client.raw({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${name}${path}` });
  expect(answer.code).toBe(200);
  expect(webhook.asked.every((request) => request.name === name)).toBe(true);
  // A pod that ends at once is marked first, and then deleted: both are asked about.
  return [...new Set(webhook.asked.map((request) => `${request.operation} ${request.path}`))];
}

const migrationPolicies: Resource = {
  apiVersion: "migrations.kubevirt.io/v1alpha1",
  kind: "MigrationPolicy",
  plural: "migrationpolicies",
  namespaced: false,
};

const SENT = ["DELETE /admission/deletions"];
const LAUNCHER = { "kubevirt.io": "virt-launcher" };

describe("a launcher pod deleted by", () => {
  // prettier-ignore
  const rows: readonly [string, boolean][] = [
    [SCHEDULER,                                                     true ],
    ["system:serviceaccount:kube-system:node-controller",           true ],
    ["system:serviceaccount:kube-system:taint-eviction-controller", true ],
    ["kubernetes-admin",                                            false],
    ["system:kube-controller-manager",                              false],
    ["system:node:node-1",                                          false],
    ["system:serviceaccount:kube-system:namespace-controller",      false],
    ["system:serviceaccount:kube-system:generic-garbage-collector", false],
    ["system:serviceaccount:kube-system:pod-garbage-collector",     false],
    ["system:serviceaccount:kubevirt:kubevirt-controller",          false],
    ["system:serviceaccount:lifeboat-system:lifeboat",              false],
    ["system:serviceaccount:default:node-controller",               false],
  ];
  test.each(rows)("%s is sent: %s", async (user, sent) => {
    expect(await deleteAs(user, LAUNCHER)).toEqual(sent ? SENT : []);
  });

  test("those that are sent are those that Lifeboat holds unless told otherwise", () => {
    const sent = rows.filter(([, isSent]) => isSent).map(([user]) => user);
    expect(sent.toSorted()).toEqual([...defaultConfiguration().guard.requesters].toSorted());
  });
});

describe("the scheduler deletes a pod labelled", () => {
  // prettier-ignore
  const rows: readonly [Record<string, string> | undefined, boolean][] = [
    [LAUNCHER,                              true ],
    [{ "kubevirt.io": "hotplug-disk" },     true ],
    [{ "kubevirt.io": "virt-api" },         false],
    [{ "kubevirt.io": "" },                 false],
    [{ app: "virt-launcher" },              false],
    [{},                                    false],
    // An expression that fails would skip the webhook unseen, or with another failurePolicy forbid the deletion.
    [undefined,                             false],
  ];
  test.each(rows)("%j: %s", async (labels, sent) => {
    expect(await deleteAs(SCHEDULER, labels)).toEqual(sent ? SENT : []);
  });

  test("and a dry run is sent as such", async () => {
    expect(await deleteAs(SCHEDULER, LAUNCHER, "?dryRun=All")).toEqual(SENT);
    expect(webhook.asked).toMatchObject([{ dryRun: true }]);
  });
});

test("with the guard down the deletion goes through", async () => {
  await webhook.stop();
  expect(await deleteAs(SCHEDULER, LAUNCHER)).toEqual([]);
  webhook = await startReviewRecorder(sandbox.authority);
});

test("a cluster with KubeVirt takes the migration policy", async () => {
  expect(await sandbox.client.get(migrationPolicies, { name: "lifeboat-urgent" })).toMatchObject({
    spec: { allowWorkloadDisruption: true },
  });
});

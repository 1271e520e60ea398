/**
 * Tests the shipped policies of the guard: which requests they refuse while Lifeboat runs, which requests they refuse
 * while Lifeboat does not run, and what tenants may not do.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyManifests, core, type RawRequest, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import * as names from "../../../shared/kube/names.ts";
import { GUARD_FILES } from "../../../infra/lab/stage/apply.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { answerTo } from "./stage.ts";

const NAMESPACE = "apps";
const MANIFESTS = GUARD_FILES.flatMap(readManifests).filter(({ kind }) => kind.startsWith("ValidatingAdmissionPolicy"));
const KUBEVIRT = "system:serviceaccount:kubevirt:kubevirt-controller";
const SCHEDULER = "system:kube-scheduler";
const TAINTS = "system:serviceaccount:kube-system:taint-eviction-controller";
const KARPENTER = "system:serviceaccount:karpenter:karpenter";
const TENANT = "tenant";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const LAUNCHER = { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT };
const policies: core.Resource<core.KubeObject & { status?: unknown }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false,
};

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  await applyManifests(sandbox.client, MANIFESTS);
  await sandbox.client.create(core.namespaces, { metadata: { name: NAMESPACE } });
});
afterAll(() => sandbox.stop());

const as = (user: string) => sandbox.client.as(user, ["system:masters"]);
const codeOf = async (user: string, request: RawRequest) => (await answerTo(request, as(user))).answer[0];

let created = 0;
async function createPod(labels: Record<string, string>, conditions: readonly object[] = []): Promise<string> {
  const name = `virt-launcher-${++created}`;
  const spec = { nodeName: "node01", containers: [{ name: "compute", image: "registry.example.com/any:1" }] };
  await as(KUBEVIRT).create(core.pods, { metadata: { namespace: NAMESPACE, name, labels }, spec });
  const body = { status: { phase: "Running", conditions } };
  const contentType = "application/strategic-merge-patch+json";
  await as(KUBEVIRT).raw({ method: "PATCH", path: `${PODS}/${name}/status`, body, contentType });
  return `${PODS}/${name}`;
}

test("the Lease that serves as a clock is renewed", async () => {
  const clock = { namespace: "kube-system", name: "kube-controller-manager" };
  await expect.poll(() => sandbox.client.get(core.leases, clock)).toBeDefined();
});

test("the policies' expressions use only fields that the matched kinds have", async () => {
  for (const { kind, metadata } of MANIFESTS) {
    if (kind !== policies.kind) continue;
    const status = async () => (await sandbox.client.get(policies, metadata))?.status;
    await expect.poll(status).toEqual({ observedGeneration: 1, typeChecking: {} });
  }
});

const target = (reason: string, secondsAgo = 0, status = "True") => ({
  type: "DisruptionTarget",
  status,
  reason,
  lastTransitionTime: new Date(Date.now() - secondsAgo * 1000).toISOString().replace(/\.\d+/, ""),
});
const PREEMPTED = "PreemptionByScheduler";
const TAINTED = "DeletionByTaintManager";
const LOST = { type: "Ready", status: "False" };
const UNREADY = { type: "Ready", status: "False", reason: "ContainersNotReady" };

// prettier-ignore
test.each<[string, user: string, conditions: () => readonly object[], options: object, code: number]>([
  ["a preemption is refused",                                         SCHEDULER,          () => [target(PREEMPTED)],                  {}, 403],
  ["a preemption is refused until its deadline",                      SCHEDULER,          () => [target(PREEMPTED, 80)],              {}, 403],
  ["a preemption is allowed after its deadline",                      SCHEDULER,          () => [target(PREEMPTED, 95)],              {}, 200],
  ["a preemption whose condition was reset is allowed",               SCHEDULER,          () => [target(PREEMPTED, 0, "False")],      {}, 200],
  ["a preemption by an administrator is allowed",                     "kubernetes-admin", () => [target(PREEMPTED)],                  {}, 200],
  ["a preemption on a lost node is allowed",                          SCHEDULER,          () => [target(PREEMPTED), LOST],            {}, 200],
  ["a preemption of a pod whose guest is not ready is refused",       SCHEDULER,          () => [target(PREEMPTED), UNREADY],         {}, 403],
  ["a deletion for a taint is refused at any time",                   TAINTS,             () => [target(TAINTED, 100)],              {}, 403],
  ["a deletion for a taint on a lost node is allowed",                TAINTS,             () => [target(TAINTED), LOST],              {}, 200],
  ["a deletion by an administrator is allowed",                       "kubernetes-admin", () => [target(TAINTED)],                    {}, 200],
  ["another deletion by a taint manager is allowed",                  TAINTS,             () => [],                                   {}, 200],
  ["a deletion at the end of a node is refused",                      KARPENTER,          () => [],              { gracePeriodSeconds: 60 }, 403],
  ["a deletion shortly before the end of a node is allowed",          KARPENTER,          () => [],              { gracePeriodSeconds: 59 }, 200],
])("%s", async (...[, user, conditions, options, code]) => {
  const path = await createPod(LAUNCHER, conditions());
  expect(await codeOf(user, { method: "DELETE", path, body: options })).toBe(code);
});

test("a deletion of a pod that is no launcher pod is allowed", async () => {
  const path = await createPod({ app: "web" }, [target(PREEMPTED)]);
  expect(await codeOf(SCHEDULER, { method: "DELETE", path })).toBe(200);
});

const spec = { containers: [{ name: "main", image: "registry.example.com/any:1" }] };
const patch = (path: string, metadata: object): RawRequest => ({
  method: "PATCH",
  path,
  body: { metadata },
  contentType: "application/merge-patch+json",
});

describe("a tenant", () => {
  test.each(["virt-launcher", "hotplug-disk"])("cannot create a pod of the component %s", async (component) => {
    const body = { metadata: { name: `forged-${component}`, labels: { "kubevirt.io": component } }, spec };
    expect(await codeOf(TENANT, { method: "POST", path: PODS, body })).toBe(403);
    expect(await codeOf(KUBEVIRT, { method: "POST", path: PODS, body })).toBe(201);
  });

  test.each(["", "/status"])("cannot give a pod the launcher's labels by its metadata%s", async (subresource) => {
    const path = await createPod({ app: "web" });
    expect(await codeOf(TENANT, patch(`${path}${subresource}`, { labels: LAUNCHER }))).toBe(403);
    expect(await codeOf(TENANT, patch(`${path}${subresource}`, { annotations: { a: "b" } }))).toBe(200);
  });

  test("cannot remove a launcher pod's label", async () => {
    const path = await createPod(LAUNCHER);
    expect(await codeOf(TENANT, patch(path, { labels: { [names.COMPONENT_LABEL]: null } }))).toBe(403);
    expect(await codeOf(TENANT, patch(path, { labels: { app: "web" } }))).toBe(200);
  });

  test("can delete a launcher pod of the tenant's own", async () => {
    const path = await createPod(LAUNCHER, [target(TAINTED)]);
    expect(await codeOf(TENANT, { method: "DELETE", path })).toBe(200);
  });
});

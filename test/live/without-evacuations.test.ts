/** A cluster in which no Evacuation can be read or written: VMs move all the same, and nothing is worse off than without Lifeboat. */
import { afterEach, expect, test } from "vitest";
import { type KubeObject, pods, type Resource } from "../../infra/sandbox/index.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { createVm, messageOf } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

const definitions: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

test("without the kind Evacuation: what may go goes, and KubeVirt's webhook evacuates the rest", async () => {
  stage = await startStage({ ticking: false });
  const unprotected = await createVm(stage, "unprotected", { evictionStrategy: "None" });
  const pinned = await createVm(stage, "pinned", { evictionStrategy: "LiveMigrateIfPossible", migratable: false });
  const migratable = await createVm(stage, "migratable");
  await stage.client.delete(definitions, { name: "evacuations.lifeboat.dev" });
  const codesOf = async () => [(await unprotected.evict()).code, (await pinned.evict()).code];
  await expect.poll(codesOf).toEqual([201, 201]);
  expect((await migratable.evict()).message).toContain("virt-launcher-eviction-interceptor");
  await migratable.untilMoved();
});

const group = { apiVersion: "admissionregistration.k8s.io/v1", namespaced: false } as const;
type WithSpec = KubeObject & { readonly spec: unknown };
const policies: Resource<WithSpec> = {
  ...group,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
};
const bindings: Resource<WithSpec> = {
  ...group,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
};

/** As a quota or a policy engine does. */
async function refuseEvacuations(): Promise<void> {
  const name = "no-evacuations";
  const resourceRules = [
    { operations: ["CREATE"], apiGroups: ["lifeboat.dev"], apiVersions: ["*"], resources: ["evacuations"] },
  ];
  const validations = [{ expression: "false", reason: "Forbidden", message: "exceeded quota" }];
  await stage.client.create(policies, {
    metadata: { name },
    spec: { failurePolicy: "Fail", matchConstraints: { resourceRules }, validations },
  });
  await stage.client.create(bindings, { metadata: { name }, spec: { policyName: name, validationActions: ["Deny"] } });
  // A policy takes a moment to be in force.
  const { apiVersion, kind, plural } = evacuations;
  const body = { apiVersion, kind, metadata: { name: "tried" }, spec: { virtualMachineInstance: { name: "tried" } } };
  const path = `/apis/${apiVersion}/namespaces/${NAMESPACE}/${plural}`;
  const tried = () => stage.client.raw({ method: "POST", path, query: { dryRun: "All" }, body });
  await expect.poll(async () => messageOf((await tried()).body)).toContain("exceeded quota");
}

test("a policy refuses every Evacuation: preempted and evicted VMs move", async () => {
  const configuration = { featureGates: { PreemptionEvictionLiveMigration: true } };
  stage = await startStage({ configuration, optional: ["optional/guard/guard.yaml"], ticking: false });
  const preempted = await createVm(stage, "preempted");
  const evicted = await createVm(stage, "evicted");
  await refuseEvacuations();
  const pod = await preempted.pod();
  const { namespace, name } = pod.metadata;
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = [
    { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", lastTransitionTime },
  ];
  await stage.client.patch(
    pods,
    pod.metadata,
    { type: "strategic", body: { status: { conditions } } },
    { subresource: "status" },
  );
  const scheduler = stage.client.as("system:kube-scheduler", ["system:authenticated"]);
  const { code } = await scheduler.raw({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${name}` });
  expect(code).toBe(429);
  // Without the label, which no Evacuation's end would take off.
  expect((await preempted.untilMoved()).status?.phase).toBe("Running");
  expect(await evicted.evict()).toMatchObject({
    code: 429,
    message: expect.stringContaining("Eviction triggered evacuation"),
  });
  await evicted.untilMoved();
  expect(await preempted.evacuations()).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { nodes, pods, type Resource } from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { migrations, virtualMachineInstances } from "../../infra/sandbox/kubevirt/resources.ts";
import { configureLifeboat, lifeboatConfigurations } from "../../infra/tools/apply.ts";
import type { Sandbox } from "../../infra/sandbox/sandbox.ts";
import { hash8 } from "../../shared/policy/kube/object-name.ts";
import { REQUEST_EVICT_ONLY_ANNOTATION } from "../../shared/policy/names.ts";
import { NAMESPACE as namespace, type Recorded, startRecorded } from "./recorded.ts";
import type { RecordingProxy } from "./recording-proxy.ts";
import { granted, permissions, readManifests, shipped } from "./shipped.ts";
import { type Evacuation, evacuations } from "./trial.ts";
/**
 * Everything Lifeboat does, done once as the shipped account: it needs all that the roles grant, and nothing else. What readyz
 * asks for does not count: it asks only whether it may, and a right that nothing else needs is one too many.
 */
const CONFIGURATION = {
  // With it webhooks are read. There is no guard yet, so that there are budgets.
  featureGates: { PreemptionEvictionLiveMigration: true },
  evacuation: { adoptSeconds: 2, backoffSeconds: 0.2, historySeconds: 0 },
};

/** Denied at once, the taint manager has soon given up, and the deadline passes. */
const GUARD = {
  featureGates: { NoExecuteTaintEvictionLiveMigration: true },
  guard: { mode: "Deny", deadlineSeconds: { NoExecuteTaint: 5 } },
};
const TAINTS = [{ key: "maintenance", value: "now", effect: "NoExecute" }];
let recorded: Recorded;
let sandbox: Sandbox;
let proxy: RecordingProxy;
beforeAll(async () => {
  recorded = await startRecorded(CONFIGURATION);
  ({ sandbox, proxy } = recorded);
});
afterAll(() => recorded.stop());

const install = (...optional: readonly string[]) => recorded.install(...optional);
const ask = (method: string, path: string) => recorded.ask(method, path);
const readyz = () => proxy.uncounted(() => ask("GET", "/readyz"));
const createVm = (...vm: Parameters<Recorded["createVm"]>) => recorded.createVm(...vm);
const launcherOf = (vm: string) => recorded.launcherOf(vm);

async function evict(vm: string): Promise<void> {
  const { name } = (await launcherOf(vm)).metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  expect((await sandbox.client.raw({ method: "POST", path, body })).code).toBe(429);
}

const hasEnded = ({ status }: Evacuation) => status?.completionTime !== undefined;

/** Looked at again and again, as by the ticks. */
async function untilMoved(name: string): Promise<void> {
  const { client } = sandbox;
  const look = async () => {
    await ask("POST", "/reconcile");
    const vmi = await client.get(virtualMachineInstances, { namespace, name });
    const { items } = await client.list(evacuations, namespace);
    return vmi?.status?.nodeName !== "node-1" && items.every(hasEnded);
  };
  await expect.poll(look, { timeout: 20_000 }).toBe(true);
}

/** With no room elsewhere a migration stays pending, and can be cancelled. */
async function cordonTarget(unschedulable: boolean): Promise<void> {
  await sandbox.client.patch(nodes, { name: "node-2" }, { type: "merge", body: { spec: { unschedulable } } });
}

async function migratingVms(): Promise<readonly string[]> {
  return (await sandbox.client.list(migrations, namespace)).items.map(({ spec }) => spec.vmiName);
}

/** Together they need every permission; each is there for one that no other needs. */
const STEPS: readonly (readonly [string, () => Promise<void>])[] = [
  [
    "the configuration is reported on",
    async () => {
      await ask("POST", "/reconcile");
      await waitFor(sandbox.client, {
        resource: lifeboatConfigurations,
        key: { name: "lifeboat" },
        what: "reported on",
        until: ({ status }) => status !== undefined,
      });
    },
  ],
  [
    "a drain moves a VM",
    async () => {
      await createVm("moved", "LiveMigrate");
      await readyz();
      await ask("GET", "/metrics");
      await evict("moved");
      await untilMoved("moved");
    },
  ],
  [
    "the name of a new Evacuation is taken",
    async () => {
      await createVm("taken", "LiveMigrate");
      const name = `taken-${hash8((await launcherOf("taken")).metadata.uid)}-1`;
      const spec = { virtualMachineInstance: { name: "another" } };
      await sandbox.client.create(evacuations, { metadata: { namespace, name }, spec });
      await evict("taken");
      await untilMoved("taken");
    },
  ],
  [
    "a refused VM has its budget",
    async () => {
      await createVm("pinned", "LiveMigrate", { migratable: false });
      await evict("pinned");
      await sandbox.client.delete(virtualMachineInstances, { namespace, name: "pinned" });
    },
  ],
  [
    "KubeVirt's own migration is adopted",
    async () => {
      await createVm("adopted", "LiveMigrate");
      // Long enough for Lifeboat to meet it while it runs.
      sandbox.migrations.configure({ seconds: 5 });
      await evict("adopted");
      await untilMoved("adopted");
      sandbox.migrations.configure({ seconds: 0.1 });
    },
  ],
  [
    "an evacuation that Lifeboat migrates, for KubeVirt does not, is cancelled",
    async () => {
      sandbox.evacuationController.enabled = false;
      await createVm("cancelled", "LiveMigrate");
      await cordonTarget(true);
      await evict("cancelled");
      const migrating = async () => {
        await ask("POST", "/reconcile");
        return await migratingVms();
      };
      await expect.poll(migrating, { timeout: 20_000 }).toContain("cancelled");
      await ask("GET", "/evacuations");
      await ask("DELETE", `/evacuations/${namespace}/cancelled`);
      await cordonTarget(false);
      sandbox.evacuationController.enabled = true;
    },
  ],
  [
    "a budget that is no longer wanted goes",
    async () => {
      await createVm("stopped", "LiveMigrate");
      await sandbox.client.delete(virtualMachineInstances, { namespace, name: "stopped" });
      await ask("POST", "/reconcile");
    },
  ],
  [
    "a tainted node is emptied",
    async () => {
      await createVm("tainted", "LiveMigrate");
      const taints = [{ key: "kubevirt.io/drain", effect: "NoSchedule" }];
      await sandbox.client.patch(nodes, { name: "node-1" }, { type: "merge", body: { spec: { taints } } });
      await untilMoved("tainted");
    },
  ],
];

test("every permission is used, and none is missing", async () => {
  for (const [what, step] of STEPS) {
    await step();
    expect([...proxy.forbidden], what).toEqual([]);
  }
  expect([...proxy.used].toSorted()).toEqual(granted(shipped()).flatMap(permissions).toSorted());
});

const clusterRoleBindings: Resource = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

const DELETE_PODS = "delete pods";

test("the guard needs its one permission more to finish what the taint manager gave up on, and uses it", async () => {
  const { client, migrations: plan } = sandbox;
  await configureLifeboat(client, { ...CONFIGURATION, ...GUARD });
  await readyz();
  await install("optional/guard.yaml");
  await client.delete(clusterRoleBindings, { name: "lifeboat-guard" });
  plan.configure({ seconds: 600 });
  await createVm("overdue", "LiveMigrate");
  const launcher = await launcherOf("overdue");
  const node = { name: launcher.spec?.nodeName ?? "" };
  await client.patch(nodes, node, { type: "merge", body: { spec: { taints: TAINTS } } });

  const forbidden = async () => {
    await recorded.fetch("POST", "/reconcile");
    return [...proxy.forbidden];
  };
  await expect.poll(forbidden, { timeout: 20_000 }).toEqual([DELETE_PODS]);
  expect((await client.get(pods, launcher.metadata))?.metadata.deletionTimestamp).toBeUndefined();

  await install("optional/guard.yaml");
  await ask("POST", "/reconcile");
  await expect.poll(() => client.get(pods, launcher.metadata), { timeout: 20_000 }).toBeUndefined();
  await client.patch(nodes, node, { type: "merge", body: { spec: { taints: null } } });
  expect(proxy.used).toContain(DELETE_PODS);
  expect(readManifests("optional/guard.yaml").flatMap(permissions)).toEqual([DELETE_PODS]);
});

const PATCH_PODS = "patch pods";
const DESCHEDULER_SUPPORT = {
  featureGates: { DeschedulerSupport: true },
  reconcilers: { annotations: "Enabled" },
};

test("annotating for the descheduler needs its one permission more, and uses it", async () => {
  const { client } = sandbox;
  await configureLifeboat(client, { ...CONFIGURATION, ...DESCHEDULER_SUPPORT });
  expect(await recorded.fetch("GET", "/readyz")).toMatchObject({ code: 503 });
  await createVm("annotated", "LiveMigrate");
  expect(proxy.forbidden).toContain(PATCH_PODS);
  const launcher = await launcherOf("annotated");
  expect(launcher.metadata.annotations).not.toHaveProperty([REQUEST_EVICT_ONLY_ANNOTATION]);

  await install("optional/descheduler-support.yaml");
  await readyz();
  await ask("POST", "/reconcile");
  const { metadata } = (await client.get(pods, launcher.metadata)) ?? launcher;
  expect(metadata.annotations).toMatchObject({ [REQUEST_EVICT_ONLY_ANNOTATION]: "" });
  expect(proxy.used).toContain(PATCH_PODS);
  expect(readManifests("optional/descheduler-support.yaml").flatMap(permissions)).toEqual([PATCH_PODS]);
});

function unbind(name: string): Promise<boolean> {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleBindings: Resource = { apiVersion, kind: "RoleBinding", plural: "rolebindings", namespaced: true };
  return sandbox.client.delete(roleBindings, { namespace: "kubevirt", name });
}

test("the constrained impersonation of 1.36 does instead of the plain one; without either the cluster is not ready", async () => {
  await createVm("sample", "None");
  await install("optional/constrained-impersonation.yaml");
  expect(await unbind("lifeboat-impersonation")).toBe(true);
  await ask("GET", "/readyz");
  expect(await unbind("lifeboat-constrained-impersonation")).toBe(true);
  const { code, body } = await recorded.fetch("GET", "/readyz");
  expect([code, JSON.stringify(body)]).toEqual([
    503,
    expect.stringContaining("the service account lacks a permission"),
  ]);
});

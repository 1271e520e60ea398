/** Tests that `lifeboat install --in-cluster` leads to a drained node, and that `uninstall` removes every object. */
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod/mini";
import { drainNode } from "../../../infra/lab/stage/drain-client.ts";
import {
  createNode,
  createVirtualMachineInstance,
  migrations,
  nodes,
  type Sandbox,
  startSandbox,
  waitFor,
} from "../../../infra/sandbox/index.ts";
import { evacuations, nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { serverImages } from "../../../infra/lab/stage/in-cluster.ts";
import { hasSettledAwayFrom, untilVmi } from "../vm.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";
import { present } from "../../support/client.ts";

const images = serverImages();
const [IMAGE = ""] = images.keys();
let sandbox: Sandbox;

beforeEach(async () => {
  sandbox = await startSandbox({ migrationSeconds: 0.3, terminationSeconds: 0.05, images });
  for (const name of ["node01", "node02", "node03"]) await createNode(sandbox.client, name);
  const vm = { namespace: "vms", node: "node01", evictionStrategy: "LiveMigrate" };
  for (const name of ["web", "mail"]) await createVirtualMachineInstance(sandbox.client, { ...vm, name });
  await createVirtualMachineInstance(sandbox.client, { ...vm, name: "ledger", node: "node03", migratable: false });
});
afterEach(() => sandbox.stop());

const call = (line: string) => lifeboat(line, { kubeconfig: sandbox.kubeconfig, isPatient: true });

const Group = z.object({ groups: z.array(z.object({ preferredVersion: z.object({ groupVersion: z.string() }) })) });
const Resources = z.object({ resources: z.array(z.object({ name: z.string(), verbs: z.array(z.string()) })) });
const List = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), namespace: z.optional(z.string()) }) })),
});

const get = async (path: string) => (await sandbox.client.raw({ method: "GET", path })).body;

async function everything(): Promise<readonly string[]> {
  const groups = Group.parse(await get("/apis")).groups.map((one) => `/apis/${one.preferredVersion.groupVersion}`);
  const found: string[] = [];
  for (const group of ["/api/v1", ...groups]) {
    for (const { name, verbs } of Resources.parse(await get(group)).resources) {
      if (!verbs.includes("list") || name.includes("/") || name === "events") continue;
      const { items } = List.parse(await get(`${group}/${name}`));
      found.push(...items.map(({ metadata }) => `${name} ${metadata.namespace ?? ""}/${metadata.name}`));
    }
  }
  return found.toSorted();
}

const isKubeVirts = (line: string) => /^(pods|virtualmachineinstancemigrations) vms\//.test(line);

test("install leads to a drained node, changes nothing when repeated, restores missing objects, and uninstall removes all", async () => {
  const before = await everything();
  const parts = "--with guard,maintenance,migration-policy,restriction";
  const installed = await call(`install --yes --in-cluster --image ${IMAGE} ${parts}`);
  expect(installed).toMatchObject({ code: 0, err: expect.arrayContaining(["√ the API server can call Lifeboat"]) });

  const signal = AbortSignal.timeout(50_000);
  const drain = { client: sandbox.client, node: "node01", onLine: () => undefined, signal, retryMs: 200, pollMs: 50 };
  expect(await drainNode(drain)).toBe(true);
  for (const name of ["web", "mail"]) await untilVmi(sandbox.client, name, "moved", hasSettledAwayFrom("node01"));
  expect((await sandbox.client.list(evacuations)).items).toHaveLength(2);

  const again = await call(`install --yes --in-cluster --image ${IMAGE} ${parts}`);
  expect(again.out.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);

  const key = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    namespaced: false,
  };
  await sandbox.client.delete(key, { name: "lifeboat-operator" });
  const upgraded = await call("install --yes");
  expect(upgraded).toMatchObject({ code: 0 });
  expect(upgraded.out.filter((line) => !line.endsWith(" unchanged"))).toEqual([
    "clusterrole.rbac.authorization.k8s.io/lifeboat-operator created",
  ]);

  await sandbox.client.create(nodeEvacuations, { metadata: { name: "kernel" }, spec: { nodeName: "node03" } });
  await waitFor(sandbox.client, {
    resource: nodeEvacuations,
    key: { name: "kernel" },
    what: "blocked",
    until: ({ status }) => status?.phase === "Blocked",
  });
  const [made] = (await sandbox.client.list(migrations)).items;
  const metadata = { annotations: { "lifeboat.dev/cause": "ApiEviction" } };
  await sandbox.client.patch(migrations, present(made).metadata, { type: "merge", body: { metadata } });
  expect(await call("uninstall")).toMatchObject({
    code: 2,
    err: [
      "Work in progress, which uninstall withdraws:",
      "    nodeevacuation.lifeboat.dev/kernel (Blocked, node node03)",
      "error: nothing has been changed: the command cannot ask, because there is no terminal. In a script, pass --yes",
    ],
  });
  const removed = await call("uninstall --yes");
  expect(removed.code).toBe(0);
  expect(removed.out).toContain("nodeevacuation.lifeboat.dev/kernel withdrawn");
  expect((await sandbox.client.get(nodes, { name: "node03" }))?.spec?.unschedulable).not.toBe(true);
  expect(removed.out).toContain("customresourcedefinition.apiextensions.k8s.io/evacuations.lifeboat.dev deleted");
  const last = (part: string) => removed.out.findLastIndex((line) => line.startsWith(part));
  expect(last("cleaned migrations: ")).toBeGreaterThan(last("clusterrolebinding"));
  await expect
    .poll(async () => (await everything()).filter((line) => !before.includes(line) && !isKubeVirts(line)))
    .toEqual([]);
  const twice = await call("uninstall --yes");
  expect(twice).toMatchObject({ code: 0, out: [], err: ["Lifeboat is not installed in this cluster."] });
});

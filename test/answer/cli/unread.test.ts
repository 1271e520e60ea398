/**
 * Tests that no command takes an object that cannot be parsed for absent: each command names the object, and says that
 * its state is not known.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { evacuations, nodeEvacuations, rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { type core, type Resource } from "../../../infra/sandbox/index.ts";
import { createBareNode } from "../../support/installed/bare-node.ts";
import { NAMESPACE, startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster();
  await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  await createBareNode(cluster.client, "node02");
  const { metadata } = await cluster.client.create(rollingMaintenances, {
    metadata: { name: "weekend" },
    spec: { nodes: { names: ["node02"] } },
  });
  const nodes = [{ name: "node02", nodeEvacuation: "part", phase: "Evacuated" }];
  const status = { phase: "Completed", nodes, nodeCounts: { total: 1, evacuated: 1 } };
  await patchStatus(rollingMaintenances, "weekend", status);
  const owner = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", controller: true };
  for (const kind of [evacuations, nodeEvacuations, rollingMaintenances]) await acceptAnyIntent(kind);
  const ownerReferences = [{ ...owner, name: "weekend", uid: metadata.uid }];
  await createOdd(nodeEvacuations, { name: "part", ownerReferences }, { nodeName: "node02" });
  await createOdd(nodeEvacuations, { name: "kernel" }, { nodeName: "node01" });
  await createOdd(rollingMaintenances, { name: "firmware" }, { nodes: { names: ["node01"] } });
  const virtualMachineInstance = { name: "web" };
  await createOdd(evacuations, { namespace: NAMESPACE, name: "web-1" }, { virtualMachineInstance });
});
afterAll(() => cluster.stop());

const run = (line: string) => lifeboat(line, { kubeconfig: cluster.kubeconfig });

async function patchStatus(resource: Resource, name: string, status: object): Promise<void> {
  await cluster.client.patch(resource, { name }, { type: "merge", body: { status } }, { subresource: "status" });
}

const definitions: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const SPEC = "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

/** Makes the API server accept intents that this version of the command does not know. */
async function acceptAnyIntent({ plural }: Resource): Promise<void> {
  const body = [{ op: "replace", path: `/${SPEC}/intent`, value: { type: "string" } }];
  await cluster.client.patch(definitions, { name: `${plural}.lifeboat.dev` }, { type: "json", body });
}

/** Creates an object with an intent of a later version. */
async function createOdd(resource: Resource, metadata: Partial<core.Metadata>, spec: object): Promise<void> {
  const manifest = { metadata, spec: { ...spec, intent: "Rehearse" } };
  await cluster.client.create(resource, manifest);
}

const OBJECTS = ["rollingmaintenance/firmware", "nodeevacuation/kernel", "nodeevacuation/part"] as const;
const UNKNOWN = "cannot be read, so its state is not known: spec.intent: ";
const said = (object: string) => expect.stringMatching(new RegExp(`^‼ ${object} ${UNKNOWN}`));
const row = (object: string) => expect.stringMatching(new RegExp(`^${object} +Unknown +${object} ${UNKNOWN}`));

test("status has a row for each unreadable object, does not say that nothing is scheduled, and exits with 4", async () => {
  const { code, out, err } = await run("status");
  expect([code, err]).toEqual([4, expect.arrayContaining(OBJECTS.map(said))]);
  expect(out).toEqual([expect.stringMatching(/^OBJECT +PHASE/), ...OBJECTS.map(row)]);
  const json: unknown = JSON.parse((await run("status -o json")).out.join("\n"));
  expect(json).toMatchObject({ maintenance: OBJECTS.map((object) => ({ object, phase: "Unknown", blockers: [] })) });
});

test("status with the name of an unreadable object shows only this object", async () => {
  const { code, out } = await run("status nodeevacuation/kernel");
  expect([code, out.slice(1)]).toEqual([4, [row("nodeevacuation/kernel")]]);
});

const NO_NODE =
  'the command cannot tell whether there is maintenance of node "node01": nodeevacuation/kernel cannot be read: ';

// prettier-ignore
test.each([
  ["status node01",                      NO_NODE],
  ["pause node01 --yes",                 NO_NODE],
  ["report nodeevacuation/kernel",       "nodeevacuation/kernel cannot be read, so its state is not known: "],
  ["resume rollm/firmware --yes",        "rollingmaintenance/firmware cannot be read, so its state is not known: "],
  ["cancel nodeevacuation/kernel --yes", "nodeevacuation/kernel cannot be read, so its state is not known: "],
])("lifeboat %s fails, because an object that it needs cannot be read", async (line, why) => {
  const { code, err } = await run(line);
  expect([code, err.at(-1)]).toEqual([1, expect.stringMatching(new RegExp(`^error: ${why}spec.intent: `))]);
});

test("report of a RollingMaintenance with an unreadable NodeEvacuation exits with 4, and names the NodeEvacuation", async () => {
  const { code, out } = await run("report rollm/weekend");
  const node = new RegExp(`^node02 +Evacuated .* nodeevacuation/part ${UNKNOWN}`);
  expect([code, out.filter((line) => node.test(line)).length]).toEqual([4, 1]);
});

test.each(["cancel", "retry"])("%s of a VM says that its unreadable Evacuation may be in progress", async (verb) => {
  const { code, err } = await run(`${verb} vm/web -n ${NAMESPACE} --yes`);
  const odd = `; evacuation/web-1 -n ${NAMESPACE} cannot be read, and may be in progress`;
  expect([code, err.at(-1)]).toEqual([1, expect.stringMatching(new RegExp(`^error: no evacuation of .*${odd}$`))]);
});

// prettier-ignore
test.each([
  ["drain node01 --dry-run", "nodeevacuation/kernel"],
  ["drain node02 --dry-run", "nodeevacuation/part"],
  ["plan",                   `evacuation/web-1 -n ${NAMESPACE}`],
  ["doctor",                 "nodeevacuation/kernel"],
])("lifeboat %s names %s", async (line, object) => {
  expect((await run(line)).err.filter((one) => one.startsWith(`‼ ${object} cannot be read`))).toHaveLength(1);
});

test("the completion of a word says nothing about unreadable objects", async () => {
  expect((await run("complete status rollm/")).err).toEqual([]);
});

const ALL = [...OBJECTS, `evacuation/web-1 -n ${NAMESPACE}`];

test("uninstall names the unreadable objects before it asks, and does not call them withdrawn", async () => {
  const dry = await run("uninstall --dry-run");
  for (const object of ALL)
    expect(dry.out).toContain(`${object} cannot be read, so uninstall would not withdraw it (dry run)`);
  const person = { kubeconfig: cluster.kubeconfig, terminal: true, answer: "n" };
  const { code, out, err } = await lifeboat("uninstall", person);
  const at = err.findIndex((line) => line.startsWith("‼ These objects cannot be read, and might be work in progress."));
  expect([code, out, err.at(-1)]).toEqual([1, [], "error: nothing has been changed"]);
  expect(err.slice(at + 1, -1)).toEqual(ALL.map((object) => `    ${object}`));
});

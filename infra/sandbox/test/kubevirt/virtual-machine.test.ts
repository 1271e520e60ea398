/**
 * Tests VirtualMachines: their run strategies, and the answers to `start`, `stop`, `restart` and `evacuate/cancel`.
 * Upstream: pkg/virt-api/rest/lifecycle.go and syncRunStrategy in virt-controller.
 */
import { describe, expect, test } from "vitest";
import { grant } from "../../actors/rbac.ts";
import { nodes, pods } from "../../actors/resources.ts";
import { createNode, createVirtualMachine } from "../../fleet.ts";
import { applyManifests } from "../../manifests.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";

const world = useSandbox({ terminationSeconds: 0 });
const namespace = "default";

const ask = async (resource: string, more: object = {}, client = world.sandbox.client) => {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/${resource}`;
  const { code, body } = await client.raw({ method: "PUT", path, body: more });
  const { message } = body as { readonly message?: string };
  return `${code} ${message ?? ""}`.trim();
};
const change = (verb: "start" | "stop" | "restart", name: string, options = {}) =>
  ask(`virtualmachines/${name}/${verb}`, options);
const vmOf = (name: string) => world.sandbox.client.get(kubevirt.virtualMachines, { namespace, name });
const vmiOf = (name: string) => world.sandbox.client.get(kubevirt.virtualMachineInstances, { namespace, name });
const strategyOf = async (name: string) => (await vmOf(name))?.spec.runStrategy;
const refusal = (name: string, why: string) =>
  `409 Operation cannot be fulfilled on virtualmachine.kubevirt.io "${name}": ${why}`;

async function runs(runStrategy: string): Promise<string> {
  const name = runStrategy.toLowerCase();
  if ((await world.sandbox.client.list(kubevirt.virtualMachines, namespace)).items.length === 0) {
    await createNode(world.sandbox.client, "node-1");
  }
  await createVirtualMachine(world.sandbox.client, runStrategy, { namespace, name });
  return name;
}

const untilOff = (name: string) =>
  world.pass(
    async () => (await vmiOf(name)) === undefined && (await vmOf(name))?.status?.printableStatus === "Stopped",
  );

// prettier-ignore
test.each([
  // run strategy    after a stop      answer to a second stop                                  after a start
  ["Always",         "Halted",         "VM is not running",                                     "Always"],
  ["Manual",         "Manual",         "VM is not running",                                     "Manual"],
  ["RerunOnFailure", "RerunOnFailure", "VM is not running",                                     "RerunOnFailure"],
  ["Once",           "Halted",         "VM is not running",                                     "Always"],
])("a VirtualMachine with the run strategy %s can be stopped and started again", async (runStrategy, stopped, again, started) => {
  const name = await runs(runStrategy);
  const first = await vmiOf(name);
  expect(await change("start", name)).toBe(refusal(name, "VM is already running"));
  expect(await change("stop", name)).toBe("202");
  await untilOff(name);
  expect(await strategyOf(name)).toBe(stopped);
  expect(await change("stop", name)).toBe(refusal(name, again));
  expect(await change("start", name)).toBe("202");
  await eventually(async () => (await vmiOf(name))?.status?.phase).toBe("Running");
  expect(await strategyOf(name)).toBe(started);
  expect((await vmiOf(name))?.metadata.uid).not.toBe(first?.metadata.uid);
  await eventually(async () => (await vmOf(name))?.status?.stateChangeRequests).toEqual([]);
});

test("a VirtualMachine that does not exist cannot be stopped", async () => {
  expect(await change("stop", "none")).toBe('404 virtualmachine.kubevirt.io "none" not found');
});

test("a guest that ends is started again with the run strategy Always, but not with Manual", async () => {
  const { client } = world.sandbox;
  const before = await vmiOf("always");
  await client.deleteAll(pods, namespace);
  await world.pass(async () => {
    const now = await vmiOf("always");
    return now?.status?.phase === "Running" && now.metadata.uid !== before?.metadata.uid;
  });
  await world.pass(async () => kubevirt.isFinal((await vmiOf("manual"))?.status));
  expect((await vmOf("manual"))?.status?.stateChangeRequests).toEqual([]);
});

// prettier-ignore
test.each([
  ["Always",         "202"],
  ["Manual",         "202"],
  ["RerunOnFailure", "202"],
  ["Once",           "409 Operation cannot be fulfilled on virtualmachine.kubevirt.io \"again-once\": RunStategy Once does not support manual restart requests"],
])("a restart with the run strategy %s is answered %s, and does not change the run strategy", async (runStrategy, answer) => {
  const name = `again-${runStrategy.toLowerCase()}`;
  await createVirtualMachine(world.sandbox.client, runStrategy, { namespace, name });
  const before = (await vmiOf(name))?.metadata.uid;
  expect(await change("restart", name)).toBe(answer);
  const isAnother = async () => {
    const vmi = await vmiOf(name);
    return vmi?.status?.phase === "Running" && vmi.metadata.uid !== before;
  };
  if (answer === "202") await world.pass(isAnother);
  else expect(await isAnother()).toBe(false);
  expect(await strategyOf(name)).toBe(runStrategy);
});

test("a restart needs a running VM, and accepts no grace period except 0", async () => {
  expect(await change("restart", "none")).toBe('404 virtualmachine.kubevirt.io "none" not found');
  expect(await change("stop", "manual")).toBe(refusal("manual", "VM is not running"));
  expect(await change("restart", "again-manual", { gracePeriodSeconds: 5 })).toBe(
    "400 For force restart, only gracePeriod=0 is supported for now",
  );
});

const taint = (taints: readonly object[]) =>
  world.sandbox.client.patch(nodes, { name: "node-1" }, { type: "merge", body: { spec: { taints } } });

describe("evacuate/cancel", () => {
  const name = "again-always";
  const path = `virtualmachineinstances/${name}/evacuate/cancel`;
  const markOf = async () => (await vmiOf(name))?.status?.evacuationNodeName;
  const mark = async () => {
    const virtApi = world.sandbox.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
    const body = [{ op: "add", path: "/status/evacuationNodeName", value: "node-1" }];
    await virtApi.patch(kubevirt.virtualMachineInstances, { namespace, name }, { type: "json", body });
  };
  const INTERNAL = "500 Internal error occurred: ";

  test("removes evacuationNodeName if the request names this node, and succeeds if evacuationNodeName is not set", async () => {
    expect(await ask(path)).toBe("200");
    await mark();
    expect(await ask(path)).toContain(INTERNAL);
    expect(await ask(path, { evacuationNodeName: "node-2" })).toContain(INTERNAL);
    expect(await markOf()).toBe("node-1");
    expect(await ask(path, { evacuationNodeName: "node-1" })).toBe("200");
    expect(await markOf()).toBeUndefined();
  });

  test("of a VirtualMachine removes evacuationNodeName of its VMI", async () => {
    await mark();
    expect(await ask(`virtualmachines/${name}/evacuate/cancel`, { evacuationNodeName: "node-1" })).toBe("200");
    expect(await markOf()).toBeUndefined();
    expect(await ask("virtualmachines/none/evacuate/cancel")).toBe('404 virtualmachine.kubevirt.io "none" not found');
    const none = '404 virtualmachineinstance.kubevirt.io "none" not found';
    expect(await ask("virtualmachineinstances/none/evacuate/cancel")).toBe(none);
  });

  test.each([
    ["application/json", 406],
    ["application/json, */*", 200],
  ])(
    "with the Accept header %s is answered with the code %i, because the route declares no content type",
    async (accept, code) => {
      const of = `/apis/subresources.kubevirt.io/v1/namespaces/${namespace}/${path}`;
      const answer = await world.sandbox.client.raw({ method: "PUT", path: of, body: {}, headers: { accept } });
      expect(answer.code).toBe(code);
    },
  );

  test("is refused while the node has the drain taint", async () => {
    await taint([{ key: "kubevirt.io/drain", effect: "NoSchedule" }]);
    expect(await ask(path)).toBe('400 Node "node-1" has NodeDrainTaintKey "kubevirt.io/drain:NoSchedule"');
    await taint([]);
  });

  test("needs two permissions: the API server checks `evacuate`, and virt-api checks `evacuate/cancel`", async () => {
    const { client } = world.sandbox;
    const someone = client.as("someone", ["system:authenticated"]);
    const grantTo = async (subresource: string) => {
      const rule = {
        apiGroups: ["subresources.kubevirt.io"],
        resources: [`virtualmachineinstances/${subresource}`],
        verbs: ["update"],
      };
      const name = `may-${subresource.replace("/", "-")}`;
      await applyManifests(client, [...grant(name, { kind: "User", name: "someone" }, [rule])]);
    };
    expect(await ask(path, {}, someone)).toMatch(/^403 /);
    await grantTo("evacuate");
    expect(await ask(path, {}, someone)).toMatch(/^401/);
    await grantTo("evacuate/cancel");
    expect(await ask(path, {}, someone)).toBe("200");
  });
});

/** Pages cost a cluster few reads, and a failed read hides nothing else. */
import { expect, test } from "vitest";
import { type Before, failing, FakeCluster } from "../../support/cluster.ts";
import { NODE, vmi } from "../../support/fixtures.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { clusterOf, of, type Scene } from "./support/scene.ts";
import { arriveAt, mainOf, words } from "./support/visitor.ts";

const BLOCKED: Scene = { vms: [vmi()], evacuations: [of("web", { phase: "Blocked" })], cordoned: true };

/** With what each look at the page asks for, some seconds after the one before. */
async function counting(scene: Scene, path: string) {
  const asked: string[] = [];
  const there = await arriveAt({ prod: clusterOf(scene) }, { before: (request) => void asked.push(request) });
  return async (seconds: number) => {
    there.pass(seconds);
    asked.length = 0;
    await there.get(path);
    return asked.toSorted();
  };
}

test("a cluster: all VMs are counted seldom; those of nodes that are closed are read each time", async () => {
  const ALL_VMS = "list virtualmachineinstances";
  const open = await counting({ vms: [vmi()] }, "/fleet/prod");
  expect(await open(0)).toEqual(expect.arrayContaining(["get lifeboatconfigurations", "list evacuations", ALL_VMS]));
  expect((await open(2)).join()).not.toContain("virtualmachineinstances");
  expect(await open(31)).toContain(ALL_VMS);
  const closed = await counting(BLOCKED, "/fleet/prod");
  await closed(0);
  expect(await closed(2)).toContainEqual(expect.stringMatching(/^list virtualmachineinstances .*nodeName.*node01/));
});

const NEIGHBOURS = expect.stringMatching(/^list pods .*nodeName!=/);

test("a node: other nodes' pods are read seldom; what happens on it, each time, in few requests", async () => {
  const vms = Array.from({ length: 200 }, (_, i) => vmiOf(`vm-${i}`, { evacuationNodeName: NODE }));
  const after = await counting({ vms, cordoned: true }, `/fleet/prod/nodes/${NODE}`);
  expect(await after(0)).toContainEqual(NEIGHBOURS);
  const asked = await after(2);
  expect(asked).not.toContainEqual(NEIGHBOURS);
  expect(asked).toContain("list pods spec.nodeName=node01");
  // The API server gives the 200 VMs and their pods in pages.
  expect(asked.length).toBeLessThanOrEqual(10);
  expect(await after(31)).toContainEqual(NEIGHBOURS);
});

// prettier-ignore
test.each<readonly [path: string, unread: RegExp, says: string]>([
  ["/fleet/prod",                 /list virtualmachineinstances$/,         "node01 Being drained Cordoned"],
  ["/",                           /get lifeboatconfigurations/,            "prod Needs a person"],
  [`/fleet/prod/nodes/${NODE}`,   /^list poddisruptionbudgets$/,           "Could not be read, or is not checked: disruption budgets"],
  ["/fleet/prod/vms/apps/web",    /list virtualmachineinstancemigrations/, "Runs on node01"],
])("%s: what may not be read hides nothing else: %s", async (path, unread, says) => {
  const there = await arriveAt({ prod: clusterOf(BLOCKED), quiet: clusterOf({}) }, { before: failing(unread) });
  expect(words(mainOf(await there.get(path)))).toContain(says);
});

test("a fleet: those that need a person come first, and one that cannot be reached hides no other", async () => {
  const gone = clusterOf({});
  gone.api.fetch = () => () => Promise.reject(new TypeError("gone"));
  const clusters = { a: clusterOf({}), b: clusterOf({ evacuations: [of("web")] }), c: clusterOf(BLOCKED), d: gone };
  const { text } = await (await arriveAt(clusters)).get("/");
  expect([...text.matchAll(/href="\/fleet\/(\w)"/g)].map(([, name]) => name)).toEqual(["c", "d", "b", "a"]);
  expect(words(text)).toContain("1 cluster cannot be reached, 1 VM waits for a person, 1 VM is leaving.");
});

test("a fleet: no more than six requests wait at a time, however many clusters there are", async () => {
  let [waiting, most] = [0, 0];
  const before: Before = async () => {
    most = Math.max(most, ++waiting);
    await new Promise((resolve) => setImmediate(resolve));
    waiting--;
  };
  const clusters = Array.from({ length: 20 }, (_, i) => [`c${i}`, new FakeCluster()] as const);
  await (await arriveAt(Object.fromEntries(clusters), { before })).get("/");
  expect(most).toBe(6);
});

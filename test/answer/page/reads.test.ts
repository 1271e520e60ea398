/** Tests that pages need few requests to a cluster, and that a failed read hides no other content. */
import { expect, test } from "vitest";
import { type Before, failing, FakeCluster } from "../../support/cluster.ts";
import { NODE, vmi } from "../../support/fixtures.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { clusterOf, of, type Scene } from "./support/scene.ts";
import { arriveAt, mainOf, words } from "./support/visitor.ts";

const BLOCKED: Scene = { vms: [vmi()], evacuations: [of("web", { phase: "Blocked" })], cordoned: true };

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

test("a cluster's page counts all VMs at most every 30 s, and reads VMs of cordoned nodes each time", async () => {
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

test("a node's page reads other nodes' pods at most every 30 s, and the node's own objects each time", async () => {
  const vms = Array.from({ length: 200 }, (_, i) => vmiOf(`vm-${i}`, { evacuationNodeName: NODE }));
  const after = await counting({ vms, cordoned: true }, `/fleet/prod/nodes/${NODE}`);
  expect(await after(0)).toContainEqual(NEIGHBOURS);
  const asked = await after(2);
  expect(asked).not.toContainEqual(NEIGHBOURS);
  expect(asked).toContain("list pods spec.nodeName=node01");
  // The API server returns the 200 VMs and their pods in pages.
  expect(asked.length).toBeLessThanOrEqual(10);
  expect(await after(31)).toContainEqual(NEIGHBOURS);
});

// prettier-ignore
test.each<readonly [path: string, unread: RegExp, says: string]>([
  ["/fleet/prod",                 /list virtualmachineinstances$/,         "node01 Being drained Cordoned"],
  ["/",                           /get lifeboatconfigurations/,            "prod Needs a person"],
  [`/fleet/prod/nodes/${NODE}`,   /^list poddisruptionbudgets$/,           "Lifeboat did not read or did not check: disruption budgets"],
  ["/fleet/prod/vms/apps/web",    /list virtualmachineinstancemigrations/, "Runs on node01"],
])("%s shows everything else if one read fails: %s", async (path, unread, says) => {
  const there = await arriveAt({ prod: clusterOf(BLOCKED), quiet: clusterOf({}) }, { before: failing(unread) });
  expect(words(mainOf(await there.get(path)))).toContain(says);
});

test("the fleet's page lists clusters that need a person first, and an unreachable cluster hides no other", async () => {
  const gone = clusterOf({});
  gone.api.fetch = () => () => Promise.reject(new TypeError("gone"));
  const clusters = { a: clusterOf({}), b: clusterOf({ evacuations: [of("web")] }), c: clusterOf(BLOCKED), d: gone };
  const { text } = await (await arriveAt(clusters)).get("/");
  expect([...text.matchAll(/href="\/fleet\/(\w)"/g)].map(([, name]) => name)).toEqual(["c", "d", "b", "a"]);
  expect(words(text)).toContain("1 cluster cannot be reached, 1 VM waits for a person, 1 VM is leaving.");
});

test("the fleet's page has at most six requests at the same time, for any number of clusters", async () => {
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

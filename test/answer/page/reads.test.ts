/** What pages cost a cluster and a browser, what they keep, and that what cannot be read hides nothing else. */
import { expect, test } from "vitest";
import { clusterPage } from "../../../functions/page/cluster.ts";
import { fleetPage } from "../../../functions/page/fleet.ts";
import { nodePage } from "../../../functions/page/node.ts";
import { vmPage } from "../../../functions/page/vm.ts";
import { failing } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { NODE, vmi } from "../../support/fixtures.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { type FakeVisit, look, visitTo, words } from "./support/fake-visit.ts";
import { clusterOf, of, type Scene } from "./support/scene.ts";

const WEB = { namespace: "apps", name: "web" };
const BLOCKED: Scene = { vms: [vmi()], evacuations: [of("web", { phase: "Blocked" })], cordoned: true };

/** With what each look at the page asks for, some seconds after the one before. */
function counting(scene: Scene | FakeCluster, page: (visit: FakeVisit) => () => Promise<string>) {
  const asked: string[] = [];
  const fake = scene instanceof FakeCluster ? scene : clusterOf(scene);
  const visit = visitTo(fake, { before: (request) => void asked.push(request) });
  const again = page(visit);
  return async (seconds: number) => {
    visit.doors.pass(seconds);
    asked.length = 0;
    const main = words(await again());
    return { main, asked: asked.toSorted() };
  };
}

const ofCluster = (scene: Scene) => counting(scene, (visit) => () => look(clusterPage(visit)))(0);

test("a cluster: of VMs only those of nodes that are closed are read", async () => {
  const always = ["get lifeboatconfigurations", "list evacuations", "list nodes"];
  expect((await ofCluster({ vms: [vmi()] })).asked).toEqual(expect.arrayContaining(always));
  expect((await ofCluster({ vms: [vmi()] })).asked).not.toContainEqual(
    expect.stringContaining("virtualmachineinstances"),
  );
  expect((await ofCluster(BLOCKED)).asked).toContainEqual(
    expect.stringMatching(/^list virtualmachineinstances .*nodeName.*node01/),
  );
});

const NEIGHBOURS = expect.stringMatching(/^list pods .*nodeName!=/);

test("a node: other nodes' pods are read seldom; what happens on it, each time, in few requests", async () => {
  const vms = Array.from({ length: 200 }, (_, i) => vmiOf(`vm-${i}`, { evacuationNodeName: NODE }));
  const after = counting({ vms, cordoned: true }, (visit) => {
    const recent = new Map();
    return () => look(nodePage(visit, NODE, recent));
  });
  expect((await after(0)).asked).toContainEqual(NEIGHBOURS);
  const { asked } = await after(2);
  expect(asked).not.toContainEqual(NEIGHBOURS);
  expect(asked).toContain("list pods spec.nodeName=node01");
  // The API server gives the 300 VMs and their pods in pages.
  expect(asked.length).toBeLessThanOrEqual(10);
  expect((await after(31)).asked).toContainEqual(NEIGHBOURS);
});

// prettier-ignore
test.each<readonly [string, RegExp, (visit: FakeVisit) => Promise<string>, readonly string[]]>([
  ["fleet",   /get lifeboatconfigurations/, (visit) => fleet([visit]),                    ["prod Needs a person"]],
    ["node",    /^list poddisruptionbudgets$/,(visit) => look(nodePage(visit, NODE, new Map())), ["Could not be read, or is not looked at: disruption budgets"]],
  ["vm",      /list virtualmachineinstancemigrations/,             (visit) => look(vmPage(visit, WEB)),   ["Runs on node01"]],
])("%s: what may not be read hides nothing else", async (...[, requests, page, says]) => {
  const scene = { ...BLOCKED, evacuations: [of("web", { phase: "Blocked" })] };
  const main = words(await page(visitTo(clusterOf(scene), { before: failing(requests) })));
  for (const one of says) expect(main).toContain(one);
});

const fleet = (visits: readonly FakeVisit[], more = 0) => look(fleetPage({ visits, more }));

test("a fleet: those that need a person come first", async () => {
  const visits = [
    visitTo(clusterOf({}), { cluster: "a-quiet" }),
    visitTo(clusterOf({ evacuations: [of("web")] }), { cluster: "b-moving" }),
    visitTo(clusterOf(BLOCKED), { cluster: "c-blocked" }),
    visitTo(clusterOf({}), { cluster: "d-gone", before: failing(/./) }),
  ];
  const main = words(await fleet(visits));
  const at = ["c-blocked", "d-gone", "b-moving", "a-quiet"].map((name) => main.indexOf(name));
  expect(at).toEqual(at.toSorted((a, b) => a - b));
  expect(main).toContain("1 cluster cannot be reached, 1 VM waits for a person, 1 VM is leaving.");
});

test("a fleet: no more than six requests wait at a time, however many clusters there are", async () => {
  let [waiting, most] = [0, 0];
  const before = async () => {
    most = Math.max(most, ++waiting);
    await new Promise((resolve) => setImmediate(resolve));
    waiting--;
  };
  await fleet(Array.from({ length: 20 }, (_, i) => visitTo(clusterOf({}), { cluster: `cluster-${i}`, before })));
  expect(most).toBe(6);
});

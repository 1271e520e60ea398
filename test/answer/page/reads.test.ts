/** What pages cost a cluster and a browser, what they keep, and that what cannot be read hides nothing else. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ASSETS, layout } from "../../../functions/page/layout.ts";
import { clusterPage } from "../../../functions/page/cluster.ts";
import { fleetPage } from "../../../functions/page/fleet.ts";
import { nodePage } from "../../../functions/page/node.ts";
import { vmPage } from "../../../functions/page/vm.ts";
import { failing } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { evacuation, NODE, PINNED, vmi } from "../../support/fixtures.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { type FakeVisit, look, textOf, visitTo, watching, words } from "./support/fake-visit.ts";
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

test("a cluster: nodes and VMs are read now and then only", async () => {
  const after = counting(BLOCKED, (visit) => watching(clusterPage(visit), visit));
  expect((await after(0)).asked).toEqual(expect.arrayContaining(["list nodes", "list virtualmachineinstances"]));
  expect((await after(2)).asked).toEqual(["get lifeboatconfigurations", "list evacuations"]);
  expect((await after(15)).asked).toContain("list nodes");
});

const NEIGHBOURS = expect.stringMatching(/^list pods .*nodeName!=/);

test("a large cluster: VMs are not read to be counted", async () => {
  const fake = clusterOf({});
  fake.vmis.put(...Array.from({ length: 1001 }, (_, i) => vmi({ name: `vm-${i}`, uid: `${i}` })));
  const { main, asked } = await counting(fake, (visit) => watching(clusterPage(visit), visit))(0);
  expect(main).toContain("1001 VMs on 2 nodes");
  expect(main).not.toContain("node01 Ready 1001");
  expect(asked).not.toContain("list virtualmachineinstances");
});

test("a node: other nodes' pods are read seldom; what happens on it, each time, in few requests", async () => {
  const vms = Array.from({ length: 200 }, (_, i) => vmiOf(`vm-${i}`, { evacuationNodeName: NODE }));
  const after = counting({ vms, cordoned: true }, (visit) => watching(nodePage(visit, NODE), visit));
  expect((await after(0)).asked).toContainEqual(NEIGHBOURS);
  const { asked } = await after(2);
  expect(asked).not.toContainEqual(NEIGHBOURS);
  expect(asked).toContain("list pods spec.nodeName=node01");
  // The API server gives the 300 VMs and their pods in pages.
  expect(asked.length).toBeLessThanOrEqual(10);
  expect((await after(31)).asked).toContainEqual(NEIGHBOURS);
});

test("a VM: four requests, however long its past is", async () => {
  const evacuations = Array.from({ length: 80 }, (_, i) => evacuation({ name: `e-${i}`, uid: `${i}` }));
  const after = counting({ vms: [vmi()], evacuations }, (visit) => watching(vmPage(visit, WEB), visit));
  await after(0);
  expect((await after(2)).asked.toSorted()).toEqual([
    "get virtualmachineinstances",
    "list evacuations spec.virtualMachineInstance.name=web",
    "list pods kubevirt.io/created-by=vmi-uid",
    "list virtualmachineinstancemigrations kubevirt.io/vmi-name=web",
  ]);
});

// prettier-ignore
test.each<readonly [string, RegExp, (visit: FakeVisit) => Promise<string>, readonly string[]]>([
  ["fleet",   /get lifeboatconfigurations|count virtual/, (visit) => fleet([visit]),                    ["prod Needs a person"]],
  ["cluster", /(count|list) virtualmachineinstances/, (visit) => look(clusterPage(visit), visit),   ["0 of 1 or more gone", "1 VM blocks it"]],
  ["node",    /^list poddisruptionbudgets$/,(visit) => look(nodePage(visit, NODE), visit), ["Could not be read, or is not looked at: disruption budgets"]],
  ["vm",      /list virtualmachineinstancemigrations/,             (visit) => look(vmPage(visit, WEB), visit),   ["Runs on node01"]],
])("%s: what may not be read hides nothing else", async (...[, requests, page, says]) => {
  const scene = { ...BLOCKED, evacuations: [of("web", { phase: "Blocked" })] };
  const main = words(await page(visitTo(clusterOf(scene), { before: failing(requests) })));
  for (const one of says) expect(main).toContain(one);
});

function watchingFleet(visits: readonly FakeVisit[], { more = 0 } = {}) {
  const [visit] = visits;
  if (visit === undefined) throw new Error("no visit");
  return watching(fleetPage({ visits, more }), visit);
}

const fleet = (visits: readonly FakeVisit[]) => watchingFleet(visits)();

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

test("a fleet: a cluster that cannot be reached says why, and what was true before", async () => {
  let isUp = true;
  const unreachable = failing(/./);
  const visit = visitTo(clusterOf(BLOCKED), { before: (request) => (isUp ? undefined : unreachable(request)) });
  const look = watchingFleet([visit]);
  await look();
  isUp = false;
  visit.doors.pass(60);
  for (let i = 0; i < 2; i++) {
    const main = words(await look());
    expect(main).toContain("Cannot be reached The API server cannot be reached");
    expect(main).toMatch(/What was true 6\ds ago : In progress 1 Blocked/);
    visit.doors.pass(5);
  }
  isUp = true;
  expect(words(await look())).not.toContain("cannot be reached");
});

test("a fleet: clusters that hang cost the page some seconds; those that were not asked come next", async () => {
  const clock = visitTo(new FakeCluster()).target;
  // Six that wait for three seconds at the same time: this clock adds up what is waited for.
  const hang = async (request: string) => {
    if (request === "list evacuations") await clock.platform.sleep(500);
    failing(/./)(request);
  };
  const visits = Array.from({ length: 40 }, (_, i) => {
    const visit = visitTo(new FakeCluster(), { cluster: `cluster-${i + 10}`, before: hang });
    return { ...visit, target: { ...visit.target, platform: clock.platform } };
  });
  const look = watchingFleet(visits);
  const began = clock.platform.now().getTime();
  expect(words(await look())).toContain("cluster-10 Cannot be reached");
  expect(clock.platform.now().getTime() - began).toBeLessThan(6000);
  const asked = new Set<string>();
  for (let i = 0; i < 6; i++) {
    for (const [, name = ""] of words(await look()).matchAll(/(cluster-\d+) Cannot be reached The API server/g))
      asked.add(name);
  }
  expect(asked.size).toBe(40);
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

test("a fleet: what is left out is said", async () => {
  const main = await watchingFleet([visitTo(clusterOf({}))], { more: 2 })();
  expect(words(main)).toContain("You have signed in to 2 more clusters");
});

/** Everything that a browser loads for it. */
async function weightOf(count: number): Promise<number> {
  const names = Array.from({ length: count }, (_, i) => `database-${i}`);
  const vms = names.map((name, i) =>
    vmiOf(name, i % 7 === 0 ? PINNED : { evacuationNodeName: NODE, isMigrating: true }),
  );
  const message = "migration kubevirt-evacuation-x moves the VM";
  const evacuations = names.map((name) => of(name, { phase: "Migrating", message: `${message} ${name}` }));
  const visit = visitTo(clusterOf({ vms, evacuations, cordoned: true }));
  const main = await look(nodePage(visit, NODE), visit);
  const live = { path: "/fleet/prod/nodes/node01", ageSeconds: 1 };
  const html = await textOf(layout({ title: NODE, visitor: "operator", live, main }));
  const texts = [html, ...Object.values(ASSETS).map(({ content }) => content)];
  return texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
}

test("a node with 50 VMs weighs less than 60 KiB with everything, with 500 less than 100", async () => {
  expect(await weightOf(50)).toBeLessThan(60 * 1024);
  expect(await weightOf(500)).toBeLessThan(100 * 1024);
});

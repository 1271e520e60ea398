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
import { type FakeVisit, look, visitTo, watching, words } from "./support/fake-visit.ts";
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

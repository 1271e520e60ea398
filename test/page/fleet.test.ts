/** The fleet: what each cluster shows of itself, and that none of them holds up the others. */
import { expect, test } from "vitest";
import { Glances } from "../../functions/page/glance.ts";
import { fleetPage } from "../../functions/page/views/fleet.ts";
import type { EvacuationFacts } from "../../shared/policy/facts.ts";
import { failing } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { evacuation, vmi } from "../policy/fixtures.ts";
import { type FakeVisit, HOSTILE, isEscaped, look, visitTo, words } from "./support/fake-visit.ts";

function clusterWith(...evacuations: readonly EvacuationFacts[]): FakeCluster {
  const fake = new FakeCluster();
  fake.vmis.put(vmi());
  fake.evacuations.put(...evacuations);
  return fake;
}

function fleet(visits: readonly FakeVisit[], { glances = new Glances(), closed = [] as string[], more = 0 } = {}) {
  const [visit] = visits;
  if (visit === undefined) throw new Error("no visit");
  return look(fleetPage({ visits, closed, more }, glances), visit);
}

const BLOCKED = evacuation({ status: { phase: "Blocked", reason: "NotMigratable" } });
const BAD_WEBHOOK = {
  type: "WebhookCalled",
  status: "False",
  reason: "WebhookMissing",
  message: "lifeboat: absent",
  observedGeneration: 1,
  lastTransitionTime: "",
};

function configured(conditions: readonly (typeof BAD_WEBHOOK)[], fake = new FakeCluster()): FakeCluster {
  fake.configuration = { resourceVersion: "1", generation: 1, spec: {}, conditions };
  return fake;
}

// prettier-ignore
const CLUSTERS: readonly (readonly [what: string, fake: FakeCluster, state: string, told: string])[] = [
  ["nothing happens",        clusterWith(),                           "Nothing to do",          "Under way nothing"],
  ["a VM moves",             clusterWith(evacuation()),               "VMs are moving",         "Under way 1 Pending"],
  ["a VM is blocked",        clusterWith(BLOCKED),                    "Needs a person",         "Waits for a person 1 VM"],
  ["its node is told",       clusterWith(BLOCKED),                    "Needs a person",         "VMs are leaving node01 (1 VM)"],
  ["an attempt has failed",  clusterWith(evacuation({ status: { phase: "BackingOff" } })), "Tries again", "1 BackingOff"],
  ["webhook is missing",     configured([BAD_WEBHOOK]),               "Lifeboat has a problem", "The API server does not ask Lifeboat about evictions. lifeboat: absent"],
  ["not known to be called", configured([{ ...BAD_WEBHOOK, status: "Unknown" }]), "Nothing to do", "No eviction has been seen yet."],
];

test.each(CLUSTERS)("%s", async (_, fake, state, told) => {
  const main = words(await fleet([visitTo(fake)]));
  expect(main).toContain(`prod ${state}`);
  expect(main).toContain(told);
});

test("a single VM that moves for another cause than its node's emptying names no node", async () => {
  const single = evacuation({ spec: { cause: "Descheduler" } });
  expect(words(await fleet([visitTo(clusterWith(single))]))).not.toContain("VMs are leaving");
});

test("those that need a person come first", async () => {
  const visits = [
    visitTo(clusterWith(), { cluster: "a-quiet" }),
    visitTo(clusterWith(evacuation()), { cluster: "b-moving" }),
    visitTo(clusterWith(BLOCKED), { cluster: "c-blocked" }),
    visitTo(clusterWith(), { cluster: "d-gone", before: failing(/./) }),
  ];
  const main = words(await fleet(visits));
  const at = ["c-blocked", "d-gone", "b-moving", "a-quiet"].map((name) => main.indexOf(name));
  expect(at).toEqual(at.toSorted((a, b) => a - b));
  expect(main).toContain("1 cluster cannot be reached, 1 VM waits for a person, 1 VM is leaving.");
});

test("a cluster that cannot be reached says why, and what was true before", async () => {
  let isUp = true;
  const unreachable = failing(/./);
  const visit = visitTo(clusterWith(BLOCKED), { before: (request) => (isUp ? undefined : unreachable(request)) });
  const glances = new Glances();
  await fleet([visit], { glances });
  isUp = false;
  visit.doors.pass(60);
  for (let i = 0; i < 2; i++) {
    const main = words(await fleet([visit], { glances }));
    expect(main).toContain("Cannot be reached The API server cannot be reached");
    expect(main).toMatch(/What was true 6\ds ago : Under way 1 Blocked/);
    visit.doors.pass(5);
  }
  isUp = true;
  expect(words(await fleet([visit], { glances }))).not.toContain("cannot be reached");
});

test("what may not be read of a cluster hides nothing else of it", async () => {
  const before = failing(/getConfiguration|getMinorVersions|countVmis/);
  const main = words(await fleet([visitTo(clusterWith(BLOCKED), { before })]));
  expect(main).toContain("prod Needs a person");
});

test("clusters that hang cost the page some seconds; of a large fleet those that were not asked come next", async () => {
  const glances = new Glances();
  const clock = visitTo(new FakeCluster()).target;
  // Six that wait for three seconds at the same time: this clock adds up what is waited for.
  const hang = async (request: string) => {
    if (request === "listEvacuations") await clock.platform.sleep(500);
    failing(/./)(request);
  };
  const visits = Array.from({ length: 40 }, (_, i) => {
    const visit = visitTo(new FakeCluster(), { cluster: `cluster-${i + 10}`, before: hang });
    return { ...visit, target: { ...visit.target, platform: clock.platform } };
  });
  const targets = visits.map(({ target }) => target);
  const begun = clock.platform.now().getTime();
  expect(words(await fleet(visits, { glances }))).toContain("cluster-10 Cannot be reached");
  expect(clock.platform.now().getTime() - begun).toBeLessThan(6000);
  const asked = new Set<string>();
  for (let i = 0; i < 6; i++) {
    for (const [name, { result }] of await glances.at(targets)) if (result === "Unreachable") asked.add(name);
  }
  expect(asked.size).toBe(40);
});

test("no more than six requests wait at a time, however many clusters there are", async () => {
  let [waiting, most] = [0, 0];
  const before = async () => {
    most = Math.max(most, ++waiting);
    await new Promise((resolve) => setImmediate(resolve));
    waiting--;
  };
  await fleet(Array.from({ length: 20 }, (_, i) => visitTo(clusterWith(), { cluster: `cluster-${i}`, before })));
  expect(most).toBe(6);
});

test("a token that ends soon is said beforehand", async () => {
  const soon = { ...BAD_WEBHOOK, type: "CredentialsValid", status: "True", reason: "ExpiresSoon", message: "in a day" };
  expect(words(await fleet([visitTo(configured([soon]))]))).toContain("Lifeboat's token ends soon.");
});

test("what does not work is said before what is not known", async () => {
  const unknown = { ...BAD_WEBHOOK, status: "Unknown" };
  const invalid = { ...BAD_WEBHOOK, type: "Ready" };
  const main = words(await fleet([visitTo(configured([unknown, invalid]))]));
  expect(main.indexOf("The configuration is not valid")).toBeLessThan(main.indexOf("No eviction has been seen yet"));
});

test("what is left out is said", async () => {
  const main = words(await fleet([visitTo(clusterWith())], { closed: ["old"], more: 2 }));
  expect(main).toContain("You are not signed in any more to old");
  expect(main).toContain("You have signed in to 2 more clusters");
});

test("hostile names and messages stay text", async () => {
  const fake = configured([{ ...BAD_WEBHOOK, message: HOSTILE }]);
  fake.evacuations.put(evacuation({ status: { sourceNode: HOSTILE } }));
  const main = await fleet([visitTo(fake, { cluster: HOSTILE })], { closed: [HOSTILE] });
  expect(isEscaped(main)).toBe(true);
  expect(words(main)).toContain("<script>alert(1)</script>");
});

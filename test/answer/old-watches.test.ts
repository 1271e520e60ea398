/**
 * Tests that outdated watches lose no VM. Each evacuation ends as it does without watches. The mark of a VM is the
 * VMI's evacuationNodeName.
 */
import { expect, test } from "vitest";
import { reconcileWithin } from "../../functions/reconcile.ts";
import { reconcileRequested } from "../../shared/reconcile/reconcile.ts";
import type { Stores } from "../../shared/kube/cache.ts";
import type { PodFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { FakeCluster } from "../support/cluster.ts";
import { openApp } from "../support/app.ts";
import { endedEvacuation, evacuation, marked, MOBILITY, newborn, pod, vmi } from "../support/fixtures.ts";
import { evictionOf, refusal } from "../support/reviews.ts";
import { storesOf } from "../support/stores.ts";
import { FLOWS, run, WEB } from "./adversity.ts";
import type { Snapshot, Watching } from "./disturbance.ts";

type Kind = keyof Stores;
/** The last state of `history` is current. */
type Age = (history: readonly Snapshot[], kind: Kind) => Snapshot | undefined;

const behind =
  (rounds: number): Age =>
  (history) =>
    history.at(-1 - rounds) ?? history[0];
const DRAWN = process.env["LIFEBOAT_NIGHTLY"] === undefined ? 3 : 30;
/** Draws a delay of 0 to 6 rounds, which is at most 30 s. */
const drawn = (seed: number): Age => {
  let state = seed;
  return (history) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return behind(Math.floor((state / 2 ** 31) * 7))(history, "pods");
  };
};
const only =
  (...kinds: readonly Kind[]): Age =>
  (history, kind) =>
    behind(kinds.includes(kind) ? 3 : 0)(history, kind);

// prettier-ignore
const AGES: readonly (readonly [string, Age])[] = [
  ["current",                          behind(0)],
  ["5 s old",                          behind(1)],
  ["15 s old",                         behind(3)],
  ["30 s old",                         behind(6)],
  ["never updated",                    (history) => history[0]],
  ["old for pods only",                only("pods")],
  ["old for VMIs only",                only("virtualmachineinstances")],
  ["old for Evacuations only",         only("evacuations")],
  ["old for migrations only",          only("virtualmachineinstancemigrations")],
  ["current for VMIs only",            only("pods", "nodes", "evacuations", "virtualmachineinstancemigrations")],
  ...Array.from({ length: DRAWN }, (_, i) => [`of random ages, no. ${i + 1}`, drawn(i + 1)] as const),
];

const watching =
  (age: Age): Watching =>
  (fake, history) =>
    storesOf(fake, (kind) => age(history, kind));

test.each(AGES)("an evacuation ends as usual if the watches are %s", async (_, age) => {
  for (const flow of FLOWS) {
    const requests = await run(flow, undefined, watching(age)).catch((cause: unknown) => {
      throw new Error(flow.name, { cause });
    });
    expect(requests.size).toBeGreaterThan(0);
  }
});

const IF_POSSIBLE = { evictionStrategy: "LiveMigrateIfPossible" };

function given(web: VmiFacts | undefined, launcher: PodFacts | undefined = pod()): FakeCluster {
  const fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  if (web !== undefined) fake.vmis.put(web);
  if (launcher !== undefined) fake.pods.put(launcher);
  return fake;
}

const REPORTED = { kind: "VirtualMachineInstance", ...WEB } as const;

async function report(fake: FakeCluster, stores: Stores): Promise<readonly string[]> {
  const requests: string[] = [];
  const { target } = openApp(fake, (label) => void requests.push(label), { stores: () => stores });
  await target.settings(target.connect(10));
  requests.length = 0;
  await reconcileWithin(target, 20, (deps) => reconcileRequested([REPORTED], deps), { watched: true });
  return requests;
}

/** Evicts the VM's pod. Resolves to Lifeboat's answer and the requests that Lifeboat sent to the API server. */
async function evict(fake: FakeCluster, stores: Stores) {
  const requests: string[] = [];
  const noteRequest = (label: string) => void requests.push(label);
  const app = openApp(fake, noteRequest, { stores: () => stores });
  // Reads the settings now, because Lifeboat reads the settings only every thirty seconds.
  await app.target.settings(app.target.connect(10));
  requests.length = 0;
  const { body } = await app.evict(evictionOf(pod()));
  await app.settle();
  return { body, requests };
}

const fresh = (fake: FakeCluster) => storesOf(fake, () => undefined);
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

test("in the cluster, a first eviction sends two requests, the first reconcile sends one, and a repeat sends none", async () => {
  const fake = given(vmi());
  const inProgress = refusal(`Evacuation in progress: ${TRIGGERED}`);
  const first = { body: refusal(TRIGGERED), requests: ["create evacuations", "create events"] };
  expect(await evict(fake, fresh(fake))).toEqual(first);
  expect(await report(fake, fresh(fake))).toEqual(["patch evacuations/status"]);
  expect(await report(fake, fresh(fake))).toEqual([]);
  expect(await evict(fake, fresh(fake))).toEqual({ body: inProgress, requests: [] });
});

test("in the cluster, only the VMI is read live before an Evacuation is Moved", async () => {
  const fake = given(marked());
  fake.evacuations.put(evacuation());
  fake.vmis.put(vmi({ activePods: { next: "node02" }, nodeName: "node02" }));
  const written = ["get virtualmachineinstances", "patch evacuations/status", "create events"];
  expect(await report(fake, fresh(fake))).toEqual(written);
  expect(fake.evacuations.list().map(({ status }) => status.phase)).toEqual(["Moved"]);
});

// prettier-ignore
test.each<[string, VmiFacts | undefined, PodFacts | undefined, VmiFacts]>([
  ["a missing VMI",                      undefined,                                                 pod(),                       vmi()],
  ["a missing pod",                      vmi(),                                                     undefined,                   vmi()],
  ["an earlier VMI of the same name",    vmi({ uid: "before" }),                                    pod(),                       vmi()],
  ["an ended VMI",                       vmi({ phase: "Failed" }),                                  pod(),                       vmi()],
  ["a VMI that an eviction may shut down",           vmi({ ...IF_POSSIBLE, liveMigratable: MOBILITY.pinned }),  pod(),                       vmi(IF_POSSIBLE)],
  ["a VMI without protection",           vmi({ evictionStrategy: "None" }),                         pod(),                       vmi()],
])("an eviction is not allowed if only the watches show %s", async (_, shownVmi, shownPod, web) => {
  const fake = given(web);
  const shown = given(shownVmi, shownPod).api.snapshot();
  expect(await evict(fake, storesOf(fake, () => shown))).toMatchObject({ body: refusal(TRIGGERED) });
});

test("a VMI that an old watch shows on an earlier node does not count as moved", async () => {
  const [before, next] = [vmi({ activePods: { before: "node02" }, nodeName: "node02" }), marked()];
  const fake = given(next);
  const old = given(before).api.snapshot();
  fake.evacuations.put(evacuation());
  const stores = storesOf(fake, (kind) => (kind === "virtualmachineinstances" ? old : undefined));
  await report(fake, stores);
  expect(fake.evacuations.list().map(({ status }) => status.phase)).toEqual(["Pending"]);
});

const BY_JANE = { cause: "Operator", requestedBy: "jane", pod: undefined } as const;

test("an Evacuation sets the mark anew although an old watch still shows the removed mark of the previous Evacuation", async () => {
  const [old, fake] = [given(marked()).api.snapshot(), given(vmi({ resourceVersion: "2" }))];
  const before = { name: "web-before-1", uid: "before", status: { completionTime: "2026-03-01T11:59:58.000Z" } };
  const next = { name: "web-next-2", uid: "next", createdAt: Date.parse("2026-03-01T11:59:59Z"), spec: BY_JANE };
  fake.evacuations.put(endedEvacuation("Withdrawn", before), newborn(next));
  await report(
    fake,
    storesOf(fake, (kind) => (kind === "virtualmachineinstances" ? old : undefined)),
  );
  await report(fake, fresh(fake));
  const found = fake.evacuations.list().find(({ uid }) => uid === "next");
  expect([found?.status.phase, fake.vmis.get(WEB)?.evacuationNodeName]).toEqual(["Pending", "node01"]);
});

test("watches that are not connected are not used", async () => {
  const fake = given(vmi());
  const shown = given(vmi({ liveMigratable: MOBILITY.pinned })).api.snapshot();
  const { body, requests } = await evict(
    fake,
    storesOf(fake, () => shown, false),
  );
  expect(body).toEqual(refusal(TRIGGERED));
  expect(requests).toContain("get virtualmachineinstances");
});

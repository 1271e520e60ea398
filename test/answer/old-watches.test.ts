/** However old what the watches show is: no VM is lost, no end is wrong, and the evacuation ends as it does where nothing is watched. */
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
/** Which of the states of a cluster, of which the last one is that of now, a watch of a kind shows. */
type Age = (history: readonly Snapshot[], kind: Kind) => Snapshot | undefined;

const behind =
  (rounds: number): Age =>
  (history) =>
    history.at(-1 - rounds) ?? history[0];
const DRAWN = process.env["LIFEBOAT_NIGHTLY"] === undefined ? 3 : 30;
/** 0 to 6 rounds: 30 s. */
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
  ["as old as nothing",                    behind(0)],
  ["5 s old",                              behind(1)],
  ["15 s old",                             behind(3)],
  ["30 s old",                             behind(6)],
  ["of the beginning, for ever",           (history) => history[0]],
  ["only the pods are old",                only("pods")],
  ["only the VMIs are old",                only("virtualmachineinstances")],
  ["only the Evacuations are old",         only("evacuations")],
  ["only the migrations are old",          only("virtualmachineinstancemigrations")],
  ["only the VMIs are new",                only("pods", "nodes", "evacuations", "virtualmachineinstancemigrations")],
  ...Array.from({ length: DRAWN }, (_, i) => [`they jump, to and fro: ${i + 1}`, drawn(i + 1)] as const),
];

const watching =
  (age: Age): Watching =>
  (fake, history) =>
    storesOf(fake, (kind) => age(history, kind));

test.each(AGES)("what the watches show is %s", async (_, age) => {
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

/** The requests of a reconcile that the relay has done. */
async function report(fake: FakeCluster, stores: Stores): Promise<readonly string[]> {
  const requests: string[] = [];
  const { target } = openApp(fake, (label) => void requests.push(label), { stores: () => stores });
  await target.settings(target.connect(10));
  requests.length = 0;
  await reconcileWithin(target, 20, (deps) => reconcileRequested([REPORTED], deps), { watched: true });
  return requests;
}

/** Evicts the VM's pod, and resolves to the answer and to the requests that it has cost. */
async function evict(fake: FakeCluster, stores: Stores) {
  const requests: string[] = [];
  const noteRequest = (label: string) => void requests.push(label);
  const app = openApp(fake, noteRequest, { stores: () => stores });
  // They are read every thirty seconds.
  await app.target.settings(app.target.connect(10));
  requests.length = 0;
  const { body } = await app.evict(evictionOf(pod()));
  await app.settle();
  return { body, requests };
}

const fresh = (fake: FakeCluster) => storesOf(fake, () => undefined);
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

test("in the cluster, a first eviction needs two requests, the first look at it one, and a repeat none", async () => {
  const fake = given(vmi());
  const inProgress = refusal(`Evacuation in progress: ${TRIGGERED}`);
  const first = { body: refusal(TRIGGERED), requests: ["create evacuations", "create events"] };
  expect(await evict(fake, fresh(fake))).toEqual(first);
  expect(await report(fake, fresh(fake))).toEqual(["patch evacuations/status"]);
  expect(await report(fake, fresh(fake))).toEqual([]);
  expect(await evict(fake, fresh(fake))).toEqual({ body: inProgress, requests: [] });
});

test("in the cluster, that a VM has moved is read of the VMI alone", async () => {
  const fake = given(marked());
  fake.evacuations.put(evacuation());
  fake.vmis.put(vmi({ activePods: { next: "node02" }, nodeName: "node02" }));
  const written = ["get virtualmachineinstances", "patch evacuations/status", "create events"];
  expect(await report(fake, fresh(fake))).toEqual(written);
  expect(fake.evacuations.list().map(({ status }) => status.phase)).toEqual(["Moved"]);
});

// prettier-ignore
test.each<[string, VmiFacts | undefined, PodFacts | undefined, VmiFacts]>([
  ["no VMI",                              undefined,                                                 pod(),                       vmi()],
  ["no pod",                              vmi(),                                                     undefined,                   vmi()],
  ["a VMI of the same name before it",    vmi({ uid: "before" }),                                    pod(),                       vmi()],
  ["a VMI that has ended",                vmi({ phase: "Failed" }),                                  pod(),                       vmi()],
  ["a VMI that may shut down",            vmi({ ...IF_POSSIBLE, liveMigratable: MOBILITY.pinned }),  pod(),                       vmi(IF_POSSIBLE)],
  ["a VMI without protection",            vmi({ evictionStrategy: "None" }),                         pod(),                       vmi()],
])("what only the watches show allows no eviction: %s", async (_, shownVmi, shownPod, web) => {
  const fake = given(web);
  const shown = given(shownVmi, shownPod).api.snapshot();
  expect(await evict(fake, storesOf(fake, () => shown))).toMatchObject({ body: refusal(TRIGGERED) });
});

test("an old VMI, which is not on the node yet that it is to leave, has not left it", async () => {
  const [before, next] = [vmi({ activePods: { before: "node02" }, nodeName: "node02" }), marked()];
  const fake = given(next);
  const old = given(before).api.snapshot();
  fake.evacuations.put(evacuation());
  const stores = storesOf(fake, (kind) => (kind === "virtualmachineinstances" ? old : undefined));
  await report(fake, stores);
  expect(fake.evacuations.list().map(({ status }) => status.phase)).toEqual(["Pending"]);
});

const BY_JANE = { cause: "Operator", requestedBy: "jane", pod: undefined } as const;

test("a mark that was taken back, and that a watch still shows, is not the next Evacuation's", async () => {
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

test("watches that are not connected are not asked", async () => {
  const fake = given(vmi());
  const shown = given(vmi({ liveMigratable: MOBILITY.pinned })).api.snapshot();
  const { body, requests } = await evict(
    fake,
    storesOf(fake, () => shown, false),
  );
  expect(body).toEqual(refusal(TRIGGERED));
  expect(requests).toContain("get virtualmachineinstances");
});

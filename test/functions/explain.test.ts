/**
 * explain: what an eviction of this pod would get, without doing it. Whatever the cluster looks like, an eviction then gets that,
 * in the same words, and does what explain has named.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import type { KubeVirtFacts } from "../../shared/cluster/kinds/kubevirt.ts";
import { budgetName } from "../../shared/policy/budget/identity.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import {
  budget,
  hotplug,
  migration,
  newborn,
  node,
  NODE,
  NOW,
  pod,
  POD_UID,
  time,
  vmi,
  without,
} from "../policy/fixtures.ts";
import { NodePreflight } from "../fuzz/contract.ts";
import { openFakeDoors } from "./support/fake-doors.ts";
import { allowance, evictionOf, refusal } from "./support/reviews.ts";

/** Each value as often as it is given here: the rare ones are not the more telling ones. */
function oneOf<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.constantFrom(...Array<T>(7).fill(usual), ...others);
}

const anyEvacuation = fc.record({
  cause: fc.constantFrom("ApiEviction" as const, "DrainTaint" as const, "Preemption" as const),
  uid: fc.constantFrom(POD_UID, POD_UID, "another"),
  phase: fc.constantFrom("Pending" as const, "BackingOff" as const, "Abandoned" as const, "Withdrawn" as const),
  attempts: fc.nat(4),
  nextAttemptTime: fc.constantFrom(undefined, time(-3600), time(60), time(60), time(60)),
});

const anyVmi = fc.record({
  strategy: fc.constantFrom("LiveMigrate", "LiveMigrateIfPossible", "External", "None", "Odd", undefined),
  migratable: fc.constantFrom(true, true, false),
  phase: oneOf("Running", "Succeeded"),
  nodeName: oneOf<string | undefined>(NODE, "node02", undefined),
  mark: fc.constantFrom(undefined, undefined, NODE, NODE, "node02"),
  deleting: oneOf(false, true),
  isThere: oneOf(true, false),
});

/** Marked, and cannot move any more: by chance this comes together too seldom. */
const stuckVmi = fc.constant({
  strategy: "LiveMigrateIfPossible",
  migratable: false,
  phase: "Running",
  nodeName: NODE,
  mark: NODE,
  deleting: false,
  isThere: true,
});

const anyWorld = fc.noBias(
  fc.record({
    vmi: fc.oneof({ arbitrary: anyVmi, weight: 8 }, { arbitrary: stuckVmi, weight: 1 }),
    pod: fc.record({
      is: oneOf("launcher", "hotplug", "foreign", "nameless"),
      phase: oneOf("Running", "Pending", "Failed"),
      createdBy: oneOf("vmi-uid", "another"),
    }),
    evacuations: fc.array(anyEvacuation, { maxLength: 2 }),
    labelled: fc.boolean(),
    migrating: fc.constantFrom(false, false, true),
    clusterStrategy: fc.constantFrom(undefined, "LiveMigrate", "External"),
    budget: fc.constantFrom("made", "missing", "off"),
  }),
);
type AnyWorld = typeof anyWorld extends fc.Arbitrary<infer T> ? T : never;

function vmiOf({ vmi: v, labelled }: AnyWorld): VmiFacts {
  const bare = without(vmi({ phase: v.phase, deleting: v.deleting }), "evictionStrategy", "nodeName");
  const reason = v.migratable ? {} : { reason: "BecauseOfThis" };
  return {
    ...bare,
    liveMigratable: { migratable: v.migratable, ...reason },
    ...(v.strategy !== undefined && { evictionStrategy: v.strategy }),
    ...(v.nodeName !== undefined && { nodeName: v.nodeName }),
    ...(v.mark !== undefined && { evacuationNodeName: v.mark }),
    ...(labelled && { evacuationLabel: "urgent" }),
  };
}

function kubeVirtOf(evictionStrategy: string | undefined): KubeVirtFacts {
  return { namespace: "kubevirt", featureGates: [], ...(evictionStrategy !== undefined && { evictionStrategy }) };
}

/** The pod that is evicted is the launcher, or a hotplug pod of it. */
function clusterOf(w: AnyWorld) {
  const fake = new FakeCluster();
  const isHotplug = w.pod.is === "hotplug";
  const launcher = pod({
    phase: isHotplug ? "Running" : w.pod.phase,
    labels: {
      "kubevirt.io/created-by": w.pod.createdBy,
      ...(w.pod.is !== "foreign" && { "kubevirt.io": "virt-launcher" }),
    },
    annotations: w.pod.is === "nameless" ? {} : { "kubevirt.io/domain": "web" },
    owners: [],
  });
  fake.pods.put(launcher);
  const evicted = isHotplug ? hotplug({ phase: w.pod.phase }) : launcher;
  fake.pods.put(evicted);
  if (w.vmi.isThere) fake.vmis.put(vmiOf(w));
  w.evacuations.forEach(({ cause, uid, ...status }, i) => {
    fake.evacuations.put(
      newborn({ name: `e${i}`, uid: `e${i}`, spec: { cause, pod: { uid } }, status: { sourceNode: NODE, ...status } }),
    );
  });
  if (w.migrating) fake.migrations.put(migration());
  fake.kubeVirt = kubeVirtOf(w.clusterStrategy);
  if (w.budget === "made") fake.budgets.put(budget({ name: budgetName(vmi()) }));
  fake.configure({ reconcilers: { evacuation: false, budget: w.budget === "off" ? "Disabled" : "Enabled" } });
  return { fake, evicted };
}

const Explained = z.object({
  decision: z.object({
    allowed: z.boolean(),
    reason: z.string(),
    message: z.optional(z.string()),
    warnings: z._default(z.array(z.string()), []),
  }),
  actions: z.array(z.string()),
  facts: z.object({ vmi: z.optional(z.object({ strategy: z.string() })) }),
});

const READ = /^(get|list|isAny|can|prove)|^Event$/;

/** Everything that is asked for before the ruling is logged, but reads and the story. */
function openNoting(fake: FakeCluster) {
  const written: string[] = [];
  const isRuled = () => doors.log.some(({ door }) => door === "admission/evictions");
  const doors = openFakeDoors(fake, (request) => {
    if (!READ.test(request) && !isRuled()) written.push(request);
  });
  return { doors, written };
}

/** One that there is none of is made; and one that is to grow is grown again, for another function may have made it. */
function withoutMaking(verbs: readonly string[]): readonly string[] {
  const made = verbs.indexOf("CreateBudget");
  const kept =
    made === -1 ? verbs : verbs.filter((verb, i) => i !== made && !(i === made + 1 && verb === "GrowBudget"));
  return kept.toSorted();
}

test("equals what an eviction then gets, and changes nothing", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyWorld, async (w) => {
      const { fake, evicted } = clusterOf(w);
      const { doors, written } = openNoting(fake);
      const { decision, actions } = Explained.parse((await doors.explain(evicted)).body);
      expect(written).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
      expect((await doors.evict(evictionOf(evicted))).body).toEqual(expected);
      expect(withoutMaking(written)).toEqual(actions.toSorted());
      expect(doors.log.find(({ door }) => door === "admission/evictions")).toMatchObject({ reason });
      await doors.settle();
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_261_122, numRuns: 1000 },
  );
  // Every answer there is.
  expect([...seen].toSorted()).toMatchInlineSnapshot(`
    [
      "BackingOff",
      "BackingOff EnsureBudget",
      "EvacuationInProgress",
      "EvacuationInProgress CreateEvacuation",
      "EvacuationInProgress EnsureBudget",
      "EvacuationInProgress EnsureBudget CreateEvacuation",
      "EvacuationTriggered CreateEvacuation GrowBudget Mark",
      "EvacuationTriggered CreateEvacuation Mark",
      "EvacuationTriggered EnsureBudget CreateEvacuation Mark",
      "EvacuationTriggered EnsureBudget Mark",
      "EvacuationTriggered GrowBudget Mark",
      "EvacuationTriggered Mark",
      "HotplugOfLiveVmi",
      "HotplugOfLiveVmi EnsureBudget",
      "MigrationTarget",
      "MigrationTarget EnsureBudget",
      "NotAVirtualMachine",
      "NotMigratable",
      "NotMigratable EnsureBudget",
      "NotScheduled",
      "NotScheduled EnsureBudget",
      "PodCompleted",
      "ShutdownByStrategy",
      "ShutdownByStrategy Unmark",
      "StrategyNone",
      "UnknownStrategy",
      "UnknownStrategy EnsureBudget",
      "VmiDeleting",
      "VmiFinal",
      "VmiGone",
    ]
  `);
});

test("what is said of a pod before its node is drained is what its eviction then gets", async () => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyWorld, async (w) => {
      const { fake, evicted } = clusterOf(w);
      fake.nodes.put(node());
      fake.nodes.put(node({ name: "node02" }));
      const { doors, written } = openNoting(fake);
      const answer = NodePreflight.parse((await doors.explainNode(NODE)).body);
      expect(written).toEqual([]);
      const said = answer.pods.find(({ name }) => name === evicted.name);
      if (said === undefined) throw new Error("the pod is missing");
      outcomes.add(`${answer.verdict} ${said.outcome}`);
      // Drains leave it in place: it has no controller.
      if (said.eviction === undefined) return;
      const { allowed, message, reason } = said.eviction;
      const expected = allowed ? allowance(message === undefined ? {} : { warnings: [message] }) : refusal(message);
      expect((await doors.evict(evictionOf(evicted))).body).toEqual(expected);
      expect(doors.log.find(({ door }) => door === "admission/evictions")).toMatchObject({ reason });
      await doors.settle();
    }),
    { seed: 20_261_122, numRuns: 1000 },
  );
  expect([...outcomes].toSorted()).toMatchInlineSnapshot(`
    [
      "Blocks Blocked",
      "Blocks Ended",
      "Blocks Follows",
      "Drains Ended",
      "Drains Evicted",
      "Drains Follows",
      "Drains Moves",
      "Drains Waits",
      "DrainsWithShutdowns Ended",
      "DrainsWithShutdowns Follows",
      "DrainsWithShutdowns ShutsDown",
    ]
  `);
});

test("a VM that has just moved is said to be, for those who choose one", async () => {
  const fake = new FakeCluster();
  fake.pods.put(pod());
  fake.vmis.put(vmi({ movedAt: NOW.getTime() - 60_000 }));
  const { cooldown } = z.object({ cooldown: z.string() }).parse((await openFakeDoors(fake).explain(pod())).body);
  expect(cooldown).toContain("for 840 s descheduling leaves it alone");
});

// prettier-ignore
test.each([
  ["the cluster's where the VMI has none",  undefined, "External",  "External"],
  ["its own",                               "None",    "External",  "None"],
  ["one that KubeVirt does not know, as it is written", "Never", undefined, "Never"],
])("the strategy in force is shown: %s", async (_, own, ofCluster, shown) => {
  const fake = new FakeCluster();
  fake.pods.put(pod());
  fake.vmis.put({ ...without(vmi(), "evictionStrategy"), ...(own !== undefined && { evictionStrategy: own }) });
  fake.kubeVirt = { namespace: "kubevirt", featureGates: [], ...(ofCluster !== undefined && { evictionStrategy: ofCluster }) };
  const { facts } = Explained.parse((await openFakeDoors(fake).explain(pod())).body);
  expect(facts.vmi).toEqual({ strategy: shown });
});

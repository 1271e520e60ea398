/**
 * Tests that `explain` and the preflight of a node predict the answer to an eviction. An eviction then gets the same
 * answer, in the same words, and performs the predicted actions.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { object } from "../../support/cluster/objects.ts";
import { migration, newborn, node, NODE, pod, time, vmi } from "../../support/fixtures.ts";
import { anyWorld, clusterOf, openNoting } from "./support/any-eviction.ts";
import { allowance, evictionOf, refusal } from "../../support/reviews.ts";

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

test("for any eviction, explain and preflight predict the answer and the actions, and change nothing", async () => {
  const [seen, outcomes] = [new Set<string>(), new Set<string>()];
  await fc.assert(
    fc.asyncProperty(anyWorld, async (w) => {
      const { fake, evicted } = clusterOf(w);
      fake.nodes.put(node(), node({ name: "node02" }));
      const { app, written } = openNoting(fake);
      const { decision, actions } = Explained.parse(await app.explain(evicted));
      const { verdict, pods } = await app.explainNode(NODE);
      const said = pods.find(({ name }) => name === evicted.name) ?? expect.fail("the pod is missing");
      outcomes.add(`${verdict} ${said.outcome}`);
      expect(written).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const more = warnings.length > 0 ? { warnings } : {};
      const expected = allowed ? allowance(more) : refusal(message, more);
      expect((await app.evict(evictionOf(evicted))).body).toEqual(expected);
      expect(written.toSorted()).toEqual(actions.toSorted());
      expect(app.log.find(({ endpoint }) => endpoint === "admission/evictions")).toMatchObject({ reason });
      await app.settle();
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_261_122, numRuns: 1000 },
  );
  // The random clusters reach every pair of verdict and outcome, and every pair of answer and writes.
  expect([outcomes.size, seen.size]).toEqual([15, 27]);
}, 120_000);

test("a pod's explanation names all requesters of the evacuation", async () => {
  const fake = new FakeCluster();
  fake.pods.put(pod());
  fake.vmis.put(vmi({ evacuationNodeName: "node01" }));
  fake.evacuations.put(newborn({ spec: { requestedBy: "admin" }, status: { requesters: ["joe"] } }));
  const { namespace, name } = pod();
  expect(await openApp(fake).explain({ namespace, name })).toMatchObject({ askedBy: ["admin", "joe"] });
});

test("during a rollout of KubeVirt, the verdict of a drain is Unknown", async () => {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  const before = await openApp(fake).explainNode(NODE);
  fake.kubeVirt = { namespace: "kubevirt", featureGates: [], isRollingOut: true };
  const { verdict, unknown } = await openApp(fake).explainNode(NODE);
  expect([before.verdict, verdict, unknown]).toEqual([
    "WillSucceed",
    "Unknown",
    ["whether KubeVirt's current rollout delays the drain"],
  ]);
});

const LARGE = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`label-${i}`, "x".repeat(60)]));
const named = { namespace: "apps", name: "odd", uid: "odd", resourceVersion: "1" };

// prettier-ignore
test.each<[string, "poddisruptionbudgets" | "virtualmachineinstances" | "pods", object]>([
  ["disruption budgets",  "poddisruptionbudgets",    { metadata: named, spec: { minAvailable: 1, selector: { matchLabels: LARGE } } }],
  ["VMIs of the node",    "virtualmachineinstances", { metadata: { ...named, labels: { "kubevirt.io/nodeName": NODE } }, spec: { nodeSelector: LARGE } }],
  ["pods of the node",    "pods",                    { metadata: { ...named, labels: LARGE }, spec: { nodeName: NODE, containers: [] } }],
  ["pods of other nodes", "pods",                    { metadata: { ...named, labels: LARGE }, spec: { nodeName: "node02", containers: [] } }],
])("a tenant's object that is too large makes the verdict Unknown: 1 %s", async (what, resource, odd) => {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  fake.api.put(resource, object(odd));
  const { verdict, unknown } = await openApp(fake).explainNode(NODE);
  expect([verdict, unknown]).toEqual(["Unknown", [`1 ${what}`]]);
});

test("a finished migration is the base of the forecast of a drain's duration", async () => {
  const fake = new FakeCluster();
  fake.nodes.put(node(), node({ name: "node02" }));
  fake.pods.put(pod());
  fake.vmis.put(vmi({ guestMemory: 2 ** 30 }));
  fake.migrations.put(migration({ vmiName: "other", phase: "Succeeded" }));
  const times = { Scheduling: time(-60), Succeeded: time(-40) };
  const phaseTransitionTimestamps = Object.entries(times).map(([phase, at]) => ({
    phase,
    phaseTransitionTimestamp: at,
  }));
  fake.api.merge("virtualmachineinstancemigrations", migration(), { status: { phaseTransitionTimestamps } });
  const { time: foretold } = await openApp(fake).explainNode(NODE);
  expect(foretold).toMatchObject({ moves: 1, basis: "based on 1 finished migration" });
  expect(foretold?.seconds.least).toBeLessThanOrEqual(20);
  expect(foretold?.seconds.most).toBeGreaterThanOrEqual(20);
});

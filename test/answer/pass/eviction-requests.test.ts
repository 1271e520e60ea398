/** Reconciles without EvictionRequests: nothing is asked with the gate off, and nothing happens where the kind cannot be read. */
import { expect, test } from "vitest";
import type { Failure } from "../../../shared/kube/failures.ts";
import { reconcileActive, reconcileAll } from "../../../shared/reconcile/reconcile.ts";
import type { FeatureGate } from "../../../shared/settings/settings.ts";
import { connectTo, failing, FakeCluster, FORBIDDEN } from "../../support/fake-cluster.ts";
import { evacuation, node, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

const ABSENT: Failure = { reason: "Refused", code: 404, request: "the request" };
const ON = ["EvictionRequests"] as const;

// prettier-ignore
test.each<[string, string, typeof reconcileActive, readonly FeatureGate[], Failure, asked: number, failures: number]>([
  ["a tick",        "the gate is off",       reconcileActive, [], ABSENT,    0, 0],
  ["a tick",        "there is no such kind", reconcileActive, ON, ABSENT,    1, 0],
  ["a tick",        "it is forbidden",       reconcileActive, ON, FORBIDDEN, 1, 1],
  ["the full scan", "the gate is off",       reconcileAll,    [], ABSENT,    0, 0],
  ["the full scan", "there is no such kind", reconcileAll,    ON, ABSENT,    1, 0],
  ["the full scan", "it is forbidden",       reconcileAll,    ON, FORBIDDEN, 1, 1],
])("%s withdraws nothing where %s", async (...[, , reconcile, featureGates, failure, asked, failures]) => {
  const fake = new FakeCluster();
  fake.nodes.put(node());
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  fake.evacuations.put(evacuation({ spec: { cause: "EvictionRequest" }, status: { phase: "Pending" } }));
  const [labels, failed]: [string[], unknown[]] = [[], []];
  const refuse = failing(/list evictions/, failure);
  const cluster = connectTo(fake, (label) => {
    labels.push(label);
    return refuse(label);
  });
  const onFailure = (_: unknown, one: unknown) => failed.push(one);
  await reconcile({ cluster, connect: () => cluster, settings: settings({ featureGates }), clock: () => NOW, onFailure });
  const reads = labels.filter((label) => label.includes("list evictions"));
  expect([reads.length, failed.length]).toEqual([asked, failures]);
  expect(fake.evacuations.list()).toMatchObject([{ spec: { intent: "Evacuate" } }]);
});

/** Reconciles without EvictionRequests: nothing is asked with the gate off, and nothing happens where the kind is absent. */
import { expect, test } from "vitest";
import type { ClusterError, Failure } from "../../../shared/kube/failures.ts";
import { reconcileActive, reconcileAll } from "../../../shared/reconcile/reconcile.ts";
import type { FeatureGate } from "../../../shared/settings/settings.ts";
import { connectTo, failing, FakeCluster, FORBIDDEN } from "../../support/fake-cluster.ts";
import { evacuation, node, NOW, pod, settings, vmi } from "../../support/fixtures.ts";

const ABSENT: Failure = { reason: "Refused", code: 404, request: "the request" };
const EVICTIONS = /list evictions/;

async function run(reconcile: typeof reconcileActive, featureGates: readonly FeatureGate[], failure: Failure) {
  const fake = new FakeCluster();
  fake.nodes.put(node());
  fake.pods.put(pod());
  fake.vmis.put(vmi());
  fake.evacuations.put(evacuation({ spec: { cause: "EvictionRequest" }, status: { phase: "Pending" } }));
  const labels: string[] = [];
  const failures: ClusterError[] = [];
  const refuse = failing(EVICTIONS, failure);
  const cluster = connectTo(fake, (label) => {
    labels.push(label);
    return refuse(label);
  });
  await reconcile({
    cluster,
    connect: () => cluster,
    settings: settings({ featureGates }),
    clock: () => NOW,
    onFailure: (_, one) => failures.push(one),
  });
  const intents = fake.evacuations.list().map(({ spec }) => spec.intent);
  return { asked: labels.filter((label) => EVICTIONS.test(label)).length, failures: failures.length, intents };
}

test.each([
  ["a tick", reconcileActive],
  ["the full scan", reconcileAll],
])(
  "%s asks for no Evictions with the gate off, and withdraws nothing where they cannot be read",
  async (_, reconcile) => {
    expect(await run(reconcile, [], ABSENT)).toEqual({ asked: 0, failures: 0, intents: ["Evacuate"] });
    expect(await run(reconcile, ["EvictionRequests"], ABSENT)).toEqual({
      asked: 1,
      failures: 0,
      intents: ["Evacuate"],
    });
    expect(await run(reconcile, ["EvictionRequests"], FORBIDDEN)).toEqual({
      asked: 1,
      failures: 1,
      intents: ["Evacuate"],
    });
  },
);

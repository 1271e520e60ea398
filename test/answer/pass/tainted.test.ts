/** Tests how a scheduled run (tick) handles pods that a NoExecute taint evicts, and which requests the tick sends. */
import { describe, expect, test } from "vitest";
import { scanActive } from "../../../functions/reconcile.ts";
import type { Stores } from "../../../shared/kube/cache.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { HOLD_TAINTS } from "../../../shared/kube/names.ts";
import { VirtualClock } from "../../support/clock.ts";
import { FakeCluster, FORBIDDEN } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { NODE, node, NOW, pod, time, vmi } from "../../support/fixtures.ts";
import { storesOf } from "../../support/stores.ts";

const TAINTED = node({ taints: [{ key: "maintenance", effect: "NoExecute", timeAdded: time(-60) }] });
const BINDING = { metadata: { name: HOLD_TAINTS } };
const ofTaints = (isOn: boolean) => ({
  featureGates: { NoExecuteTaintEvictionLiveMigration: isOn },
  disruptionBudgets: "Never",
});

function given(isOn: boolean, { isHeld = true, tainted = true } = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.configure(ofTaints(isOn));
  fake.nodes.put(tainted ? TAINTED : node(), node({ name: "node02" }));
  fake.vmis.put(vmi());
  fake.pods.put(pod());
  if (isHeld) fake.api.put("validatingadmissionpolicybindings", BINDING);
  return fake;
}

async function tick(fake: FakeCluster, stores?: Stores, refuse: (label: string) => boolean = () => false) {
  const requests: string[] = [];
  const before = (label: string) => {
    requests.push(label);
    if (refuse(label)) throw new ClusterError(FORBIDDEN);
  };
  const { target } = openApp(fake, before, stores && { stores: () => stores });
  await scanActive(target);
  return requests.filter((label) => /^(list (nodes|pods|virtualmachineinstances)|get validatingadmission)/.test(label));
}

const started = (fake: FakeCluster) => fake.evacuations.list().map(({ spec }) => spec.cause);

describe("with the feature gate off", () => {
  // prettier-ignore
  test.each<[string, FakeCluster, refused: RegExp, left: number]>([
    ["a pod that the policy holds is deleted", given(false),                       /^$/,                    0],
    ["without the policy no pod is deleted",                    given(false, { isHeld: false }),    /^$/,                    1],
    ["with an unreadable policy no pod is deleted", given(false),                     /^get validatingadmission/, 1],
    ["without a taint no pod is deleted",                           given(false, { tainted: false }),   /^$/,                    1],
  ])("%s", async (_, fake, refused, left) => {
    await tick(fake, undefined, (label) => refused.test(label));
    expect([fake.pods.list().length, started(fake)]).toEqual([left, []]);
  });

  test("a tick uses its own configuration, not that of a concurrent reconcile", async () => {
    const fake = given(true);
    const clock = new VirtualClock(NOW);
    const { target } = openApp(fake, undefined, { clock });
    const reading = target.settings(target.connect(10));
    await clock.outcome(reading);
    fake.configure(ofTaints(false));
    await clock.outcome(scanActive(target));
    expect(fake.pods.list()).toEqual([]);
  });
});

const now = (fake: FakeCluster) => storesOf(fake, () => undefined);

describe("in the cluster, where nodes and pods are watched,", () => {
  test("a tick finds a taint that no event has reported, and decides on live facts", async () => {
    const fake = given(true);
    expect((await tick(fake, now(fake))).slice(0, 2)).toEqual([
      "list nodes",
      `list pods kubevirt.io=virt-launcher spec.nodeName=${NODE}`,
    ]);
    expect(started(fake)).toEqual(["NoExecuteTaint"]);
  });

  test("no object is read while the watches show no taint", async () => {
    expect(await tick(given(true, { tainted: false }), now(given(true, { tainted: false })))).toEqual([]);
    const fake = given(true);
    await tick(fake, now(fake));
    expect(await tick(fake, now(fake))).toEqual([]);
  });

  test("watches that are not connected are not used", async () => {
    const [fake, shown] = [given(true), given(true, { tainted: false })];
    await tick(
      fake,
      storesOf(fake, () => shown.api.snapshot(), false),
    );
    expect(started(fake)).toEqual(["NoExecuteTaint"]);
  });

  test("an old watch starts no evacuation", async () => {
    const [fake, shown] = [given(true, { tainted: false }), given(true)];
    await tick(
      fake,
      storesOf(fake, () => shown.api.snapshot()),
    );
    expect(started(fake)).toEqual([]);
  });
});

/**
 * What `lifeboat explain node` foretells comes true: random nodes are drained by KubeVirt, Lifeboat and whoever asks, in a cluster with CPUs,
 * quotas, budgets, taints and rollouts of every kind. Five hundred of them at night, a hundred on a real control plane.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as z from "zod/mini";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { KUBEVIRT, kubevirt, kubeVirts, pods } from "../../infra/sandbox/index.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { NodePreflight } from "../support/cli/node-preflight.ts";
import { anyDrain, setUp, tearDown } from "./any-drain.ts";
import { type Stage, startStage } from "./stage.ts";

const ROUNDS = IS_REAL ? 13 : process.env["LIFEBOAT_NIGHTLY"] ? 63 : 1;
const SIDE_BY_SIDE = 8;
/** What has not left by then, and is not to, stays. */
const STAYS_MS = IS_REAL ? 20_000 : 4_000;
const LEAVES_MS = IS_REAL ? 120_000 : 30_000;

const anyRound = fc.record({
  isRollingOut: fc.constantFrom(false, false, false, false, false, false, false, true),
  drains: fc.array(anyDrain, { minLength: SIDE_BY_SIDE, maxLength: SIDE_BY_SIDE }),
});

type Foretold = z.output<typeof NodePreflight>;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ nodes: [], relay: true, workloads: true, configuration: {} });
  // One drain has nothing to do with another.
  await configure({ spec: { configuration: { migrations: { parallelMigrationsPerCluster: 50 } } } });
}, 120_000);
afterAll(() => stage.stop());

async function configure(body: object, subresource?: string): Promise<void> {
  const options = subresource === undefined ? {} : { subresource };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, options);
}

async function foretold(node: string): Promise<Foretold> {
  const { out } = await lifeboat(`explain node ${node} -o json`, { kubeconfig: stage.sandbox.kubeconfig });
  return NodePreflight.parse(JSON.parse(out.join("\n")));
}

const drains = ({ verdict }: Foretold) => verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";

/** Seconds; undefined if it did not end. */
async function drained(node: string, signal: AbortSignal): Promise<number | undefined> {
  const begun = performance.now();
  const quick = { onLine: () => undefined, retryMs: 1000, pollMs: 100 };
  const isEmpty = await drainNode({ client: stage.client, node, signal, ...quick }).catch(() => false);
  return isEmpty ? (performance.now() - begun) / 1000 : undefined;
}

const round = fc.sample(anyRound, { seed: 20_261_126, numRuns: ROUNDS });
const seen: Record<string, number> = {};
const times: string[] = [];

test.for([...round.entries()])(
  "round %i",
  { timeout: 4 * LEAVES_MS },
  async ([index, { isRollingOut, drains: all }]) => {
    const named = all.map((w, i) => [`d${index}-${i}`, w] as const);
    for (const [name, w] of named) await setUp(stage, name, w);
    await configure({ status: { observedDeploymentID: "1", targetDeploymentID: isRollingOut ? "2" : "1" } }, "status");
    const before = await Promise.all(named.map(([name]) => foretold(name)));
    const over = new AbortController();
    const done = before.map((said) => {
      const signal = drains(said) ? AbortSignal.timeout(LEAVES_MS) : over.signal;
      return drained(said.node, signal);
    });
    await Promise.all([delay(STAYS_MS), ...done.filter((_, i) => drains(before[i] ?? before[0]!))]);
    over.abort();
    const took = await Promise.all(done);
    for (const [i, said] of before.entries()) {
      const { node, verdict, time } = said;
      seen[verdict] = (seen[verdict] ?? 0) + 1;
      const { items } = await stage.client.list(kubevirt.virtualMachineInstances, node);
      const isShutDown = items.some(({ status }) => status?.phase !== "Running");
      const left = (await stage.client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` })).items;
      const true_ = { isEmpty: left.length === 0, isShutDown };
      const why = JSON.stringify({ w: named[i]?.[1], said, took: took[i] });
      if (verdict !== "Unknown")
        expect(true_, why).toEqual({
          isEmpty: drains(said),
          isShutDown: drains(said) ? verdict === "WillSucceedWithShutdowns" : isShutDown,
        });
      if (isRollingOut) expect(verdict).not.toMatch(/^WillSucceed/);
      if (time && took[i] !== undefined)
        times.push(`${node} ${time.seconds.least}-${time.seconds.most} ${took[i].toFixed(1)} ${time.basis}`);
    }
    await Promise.all(named.map(([name, w]) => tearDown(stage, name, w)));
  },
);

test("every verdict was there", () => {
  console.log(seen);
  console.log(times.join("\n"));
});

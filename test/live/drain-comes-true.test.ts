/**
 * Tests that drains of random nodes end as `lifeboat explain node` predicts. The nodes have different CPUs, quotas,
 * PodDisruptionBudgets and taints, and some drains take place during a rollout of KubeVirt. The nightly run drains 500
 * nodes, or 100 nodes on a real control plane.
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
import { type AnyDrain, anyDrain, setUp, tearDown } from "./any-drain.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm } from "./vm.ts";

const MIGRATION_SECONDS = IS_REAL ? 4 : 1;
const IS_LONG = IS_REAL || process.env["LIFEBOAT_NIGHTLY"] !== undefined;
const SIDE_BY_SIDE = IS_LONG ? 8 : 4;
const ROUNDS = IS_REAL ? 13 : IS_LONG ? 63 : 1;
const STAYS_MS = IS_REAL ? 20_000 : 4_000;
const LEAVES_MS = IS_REAL ? 120_000 : 30_000;

const anyRound = fc.record({
  isRollingOut: fc.constantFrom(false, false, false, false, false, false, false, true),
  drains: fc.array(anyDrain, { minLength: SIDE_BY_SIDE, maxLength: SIDE_BY_SIDE }),
});

type Foretold = z.output<typeof NodePreflight>;

let stage: Stage;
beforeAll(async () => {
  const options = { migrationSeconds: MIGRATION_SECONDS, configuration: {}, workloads: true } as const;
  stage = await startStage({ nodes: ["node01", "node02"], relay: true, ...options });
  // Allows 50 parallel migrations, because migrations of one drain must not wait for migrations of another drain.
  await configure({ spec: { configuration: { migrations: { parallelMigrationsPerCluster: 50 } } } });
  // The forecast of a drain's duration needs one finished migration.
  const vm = await createVm(stage, "before", { node: "node01" });
  await drained(vm.node, AbortSignal.timeout(LEAVES_MS));
  await vm.untilMoved();
}, 120_000 * PATIENCE);
afterAll(() => stage.stop());

async function configure(body: object, subresource?: string): Promise<void> {
  const options = subresource === undefined ? {} : { subresource };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body }, options);
}

async function foretold(node: string): Promise<Foretold> {
  const { out } = await lifeboat(`explain node ${node} -o json`, { kubeconfig: stage.sandbox.kubeconfig });
  return NodePreflight.parse(JSON.parse(out.join("\n")));
}

const willSucceed = ({ verdict }: Foretold) => verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";

async function drained(node: string, signal: AbortSignal): Promise<number | undefined> {
  const started = performance.now();
  const quick = { onLine: () => undefined, retryMs: IS_REAL ? 5000 : 500, pollMs: 100 };
  const isEmpty = await drainNode({ client: stage.client, node, signal, ...quick }).catch(() => false);
  return isEmpty ? (performance.now() - started) / 1000 : undefined;
}

interface Seen {
  readonly said: Foretold;
  readonly w: AnyDrain;
  /** The duration in seconds, or undefined if the drain did not finish. */
  readonly took: number | undefined;
}

const all: Seen[] = [];
const rounds = fc.sample(anyRound, { seed: 20_261_126, numRuns: ROUNDS });

test.for([...rounds.entries()])(
  "round %i: each drain ends as its forecast says",
  { timeout: 4 * LEAVES_MS },
  async ([index, { isRollingOut, drains }]) => {
    const named = drains.map((w, i) => ({ w, name: `round-${index}-${i}` }));
    for (const { name, w } of named) await setUp(stage, name, w);
    await configure({ status: { observedDeploymentID: "1", targetDeploymentID: isRollingOut ? "2" : "1" } }, "status");
    const foreseen = await Promise.all(named.map(async (one) => ({ ...one, said: await foretold(one.name) })));
    const over = new AbortController();
    const running = foreseen.map(({ name, ...one }) => {
      const signal = willSucceed(one.said) ? AbortSignal.timeout(LEAVES_MS) : over.signal;
      return { ...one, name, done: drained(name, signal) };
    });
    const leaving = running.filter(({ said }) => willSucceed(said));
    await Promise.all([delay(STAYS_MS), ...leaving.map(({ done }) => done)]);
    over.abort();
    for (const { name, done, ...foreseenOne } of running) {
      const one = { ...foreseenOne, took: await done };
      all.push(one);
      const { verdict } = one.said;
      if (isRollingOut) expect(verdict).not.toMatch(/^WillSucceed/);
      if (verdict === "Unknown") continue;
      const outcome = await outcomeOf(name);
      const isShutDown = willSucceed(one.said) ? verdict === "WillSucceedWithShutdowns" : outcome.isShutDown;
      expect(outcome, JSON.stringify(one)).toEqual({ isEmpty: willSucceed(one.said), isShutDown });
    }
    for (const { name, w } of named) await tearDown(stage, name, w);
  },
);

async function outcomeOf(node: string) {
  const { items: vmis } = await stage.client.list(kubevirt.virtualMachineInstances, node);
  const { items } = await stage.client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` });
  return { isEmpty: items.length === 0, isShutDown: vmis.some(({ status }) => status?.phase !== "Running") };
}

/**
 * Runs only on a real control plane, because simulated migrations take a fixed time.
 * test/decide/preflight/duration.test.ts tests the forecast of that time.
 */
if (IS_REAL)
  test("nine in ten drains take as long as their forecast, within a factor of two", () => {
    const timed = all.flatMap(({ said: { time }, took }) =>
      time === undefined || took === undefined
        ? []
        : [{ foretold: (time.seconds.least + time.seconds.most) / 2, took }],
    );
    const far = timed.filter((one) => one.took > 2 * one.foretold || one.took < one.foretold / 2);
    expect(timed.length).toBeGreaterThan(20);
    expect(far.length, JSON.stringify(far)).toBeLessThanOrEqual(timed.length / 10);
  });

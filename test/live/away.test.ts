/** What a drain needs goes away in the middle of it, and comes back: none is lost, and each evacuation ends as Moved. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { isReal } from "../../infra/sandbox/index.ts";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm, startQueued } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

const NODE = "node01";
const TIMEOUT_MS = 170_000;
/** Simulated programs wait for nothing. */
const away = (seconds: number) => delay((IS_REAL ? seconds : seconds / 20) * 1000);

/** VMs; the drain of many is not over when the missing part is back. */
const [FEW, MANY] = [6, IS_REAL ? 16 : 8];

// prettier-ignore
const PARTS = [
  ["the API server, for a moment", FEW, async () => {
    await stage.sandbox.apiServer.suspend();
    await stage.sandbox.apiServer.resume();
  }],
  // A simulated virt-controller has no Lease.
  ...(IS_REAL ? [["the API server, for so long that virt-controller loses its Lease, ends, and is started again", FEW, async () => {
    await stage.sandbox.apiServer.suspend();
    await away(14);
    await stage.sandbox.apiServer.resume();
    await expect.poll(hasLostLease).toBe(true);
  }] as const] : []),
  ["Lifeboat, for 20 s", MANY, async () => {
    await stage.stopWorker();
    await away(20);
    await stage.restartWorker();
  }],
] as const;

async function hasLostLease(): Promise<boolean> {
  const { sandbox } = stage;
  if (!isReal(sandbox)) return false;
  return (await readFile(join(sandbox.programs.logs, "virt-controller.log"), "utf8")).includes("leaderelection lost");
}

test.for(PARTS)("%s", { timeout: TIMEOUT_MS + 10_000 }, async ([, count, goAway]) => {
  stage = await startStage({ migrationSeconds: IS_REAL ? 2 : 0.2 });
  const vms = await Promise.all(Array.from({ length: count }, (_, i) => createVm(stage, `vm-${i}`, { node: NODE })));
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const drain = () =>
    drainNode({ client: stage.client, node: NODE, onLine: () => undefined, signal, retryMs: 300, pollMs: 50 });
  // As kubectl, which may end with an error; a person calls it again.
  const names = vms.map(({ name }) => name);
  const first = await startQueued(stage.client, names, () => ({ drained: drain().catch(() => false) }));
  await goAway();
  await first.drained;
  await expect.poll(() => drain().catch(() => false), { timeout: TIMEOUT_MS }).toBe(true);
  for (const vm of vms) expect((await vm.untilMoved()).status?.phase).toBe("Running");
  const phases = async () => (await Promise.all(vms.map((vm) => vm.phases()))).flat();
  await expect.poll(phases).toEqual(vms.map(() => "Moved"));
});

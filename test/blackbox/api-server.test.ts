/** The API server goes in the middle of a drain, and comes back; on a real control plane it is killed, and virt-controller ends with it. */
import { afterEach, expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm, evacuationsOf, startQueued } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

const NODE = "node01";
const TIMEOUT_MS = 170_000;

test("none is lost, and each evacuation ends as Moved", { timeout: TIMEOUT_MS + 10_000 }, async () => {
  stage = await startStage({ migrationSeconds: 1 });
  const vms = await Promise.all(Array.from({ length: 6 }, (_, i) => createVm(stage, `vm-${i}`, { node: NODE })));
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const drain = () =>
    drainNode({ client: stage.client, node: NODE, onLine: () => undefined, signal, retryMs: 300, pollMs: 50 });
  // As kubectl, which ends with an error; a person calls it again.
  const names = vms.map(({ name }) => name);
  const first = await startQueued(stage.client, names, () => ({ drained: drain().catch(() => false) }));
  await stage.sandbox.apiServer.suspend();
  await first.drained;
  await stage.sandbox.apiServer.resume();
  await expect.poll(() => drain().catch(() => false), { timeout: TIMEOUT_MS }).toBe(true);
  for (const vm of vms) expect((await vm.untilMoved()).status?.phase).toBe("Running");
  const phases = async () => (await Promise.all(vms.map(({ name }) => evacuationsOf(stage.client, name)))).flat();
  await expect.poll(async () => (await phases()).map(({ status }) => status?.phase)).toEqual(vms.map(() => "Moved"));
});

/**
 * Tests that after `lifeboat install`, for a Worker or for the cluster, a node drains without further steps, and
 * `lifeboat doctor` finds no problem.
 * @module-tag nightly
 */
import { expect, test } from "vitest";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { IMAGE, serverImages } from "../../infra/lab/stage/in-cluster.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { type InstallStage, startInstallStage } from "./cli/install-stage.ts";
import { hasSettledAwayFrom, migrationsOf, startQueued, untilVmi } from "./vm.ts";

const PATIENT = { isPatient: true };
const NODE = "node01";

test.for([
  ["beside a Worker", (stage: InstallStage) => stage.install("", PATIENT)],
  ["in the cluster", (stage: InstallStage) => stage.call(`install --yes --in-cluster --image ${IMAGE}`, PATIENT)],
] as const)("installed %s, a node drains and the doctor finds no problem", async ([, install], { onTestFinished }) => {
  const stage = await startInstallStage({ images: serverImages() });
  const { client } = stage.sandbox;
  onTestFinished(async () => {
    await keepLogsOfFailure(stage.sandbox);
    await stage.stop();
  });
  expect(await install(stage)).toMatchObject({ code: 0 });
  const again = await install(stage);
  expect(again.out.filter((said) => !said.endsWith(" unchanged"))).toEqual([]);

  const signal = AbortSignal.timeout(100_000);
  const quick = { onLine: () => undefined, retryMs: 200, pollMs: 50 };
  const drain = () => ({ done: drainNode({ client, node: NODE, signal, ...quick }) });
  expect(await (await startQueued(client, ["web"], drain)).done).toBe(true);
  const vmi = await untilVmi(client, "web", "settled elsewhere", hasSettledAwayFrom(NODE));
  expect(vmi.status?.phase).toBe("Running");
  expect(await migrationsOf(client, "web")).toHaveLength(1);
  await expect.poll(() => stage.call("doctor")).toMatchObject({ code: 0 });
});

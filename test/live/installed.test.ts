/**
 * `lifeboat install` by its command line, in both forms: with nothing else a node drains, and the doctor finds nothing. The command's own
 * tests say so of the simulated control plane.
 * @module-tag nightly
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, type TestContext } from "vitest";
import * as z from "zod/mini";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { createNode, createVirtualMachineInstance, type Sandbox } from "../../infra/sandbox/index.ts";
import { startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { IMAGE, serverImages } from "../../infra/lab/stage/in-cluster.ts";
import { startWorker } from "../../infra/lab/stage/worker.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { keepLogsOfFailure } from "../support/setup/keep-logs.ts";
import { NAMESPACE } from "./stage.ts";
import { hasSettledAwayFrom, migrationsOf, startQueued, untilVmi } from "./vm.ts";

type Install = (sandbox: Sandbox, context: TestContext) => Promise<Parameters<typeof lifeboat>>;

const Entry = z.object({ server: z.string(), token: z.string(), webhookToken: z.string(), operatorToken: z.string() });
const NODE = "node01";
const NAMES = ["mail", "web"];

/** Its administrator gives the Worker the entry, once the command has written it. */
const besideAWorker: Install = async ({ authority, kubeconfig }, { onTestFinished }) => {
  const worker = await startWorker({ authority, clusters: {}, registry: true });
  onTestFinished(() => worker.stop());
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [ca, file] = [join(folder, "ca.pem"), join(folder, "entry.json")];
  await writeFile(ca, authority.caPem);
  const meanwhile = async () => {
    const entry = await readFile(file, "utf8").catch(() => undefined);
    if (entry !== undefined) await worker.registry.set("prod", Entry.parse(JSON.parse(entry)));
  };
  const line = `install --worker ${worker.url} --cluster prod --entry ${file} --ca-bundle ${ca}`;
  return [line, { kubeconfig, isPatient: true, meanwhile }];
};

const inTheCluster: Install = async ({ kubeconfig }) => [
  `install --in-cluster --image ${IMAGE}`,
  { kubeconfig, isPatient: true },
];

test.for([
  ["beside a Worker", besideAWorker],
  ["in the cluster", inTheCluster],
] as const)("%s", async ([, install], context) => {
  const images = serverImages({ cluster: "sandbox" });
  const sandbox = await startSandboxAsChosen({ migrationSeconds: 0.3, terminationSeconds: 0.05, images });
  context.onTestFinished(async () => {
    await keepLogsOfFailure(sandbox);
    await sandbox.stop();
  });
  const { client, kubeconfig } = sandbox;
  for (const name of [NODE, "node02", "node03"]) await createNode(client, name);
  const vm = { namespace: NAMESPACE, node: NODE, evictionStrategy: "LiveMigrate" };
  for (const name of NAMES) await createVirtualMachineInstance(client, { ...vm, name });

  const [line, person] = await install(sandbox, context);
  expect(await lifeboat(line, person)).toMatchObject({ code: 0 });
  const again = await lifeboat(line, person);
  expect(again.out.filter((said) => !said.endsWith(" unchanged"))).toEqual([]);

  const signal = AbortSignal.timeout(100_000);
  const quick = { onLine: () => undefined, retryMs: 200, pollMs: 50 };
  const drain = () => ({ done: drainNode({ client, node: NODE, signal, ...quick }) });
  expect(await (await startQueued(client, NAMES, drain)).done).toBe(true);
  for (const name of NAMES) {
    const vmi = await untilVmi(client, name, "settled elsewhere", hasSettledAwayFrom(NODE));
    expect(vmi.status?.phase).toBe("Running");
    expect(await migrationsOf(client, name)).toHaveLength(1);
  }
  await expect.poll(() => lifeboat("doctor", { kubeconfig })).toMatchObject({ code: 0 });
});

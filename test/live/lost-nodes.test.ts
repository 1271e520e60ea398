/**
 * Tests that Lifeboat does not delay the restart of a lost node's VMs, because these VMs cannot migrate. Times are
 * seconds of the cluster's fast clock. Known limitation: if a pod was unready before its node was lost, the policy
 * `lifeboat-hold-taints` assumes that the node is alive, and refuses the pod's deletion.
 */
import { expect, test, type TestContext } from "vitest";
import { createNode, createVirtualMachine, kubevirt, nodes, pods } from "../../infra/sandbox/index.ts";
import { GUARD_FILES } from "../../infra/lab/stage/apply.ts";
import { NAMESPACE, type SimulatedStage, startSimulatedStage } from "./stage.ts";
import { createClockToHurry } from "./victims.ts";

const LOST = "lost";
const NAME = "web";
const FASTER = 30;
const TIMEOUT_MS = 240_000;
/** The control plane notices a silent kubelet within 75 s. The pods then tolerate the lost node for 300 s. */
const MOST_SECONDS = 300 + 75;
const BUSY_SECONDS = 60;
const OUT_OF_SERVICE = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };

interface Lifeboat {
  readonly isGuarding: boolean;
  readonly isAway: boolean;
}

async function loseNode(context: TestContext, { isGuarding, isAway }: Lifeboat) {
  const clock = createClockToHurry(FASTER, context.onTestFinished);
  const configuration = { featureGates: { NoExecuteTaintEvictionLiveMigration: isGuarding } };
  const optional = isGuarding ? GUARD_FILES : [];
  const stage = await startSimulatedStage({ nodes: [LOST], optional, configuration, clock, relay: true });
  context.onTestFinished(() => stage.stop());
  await createVirtualMachine(stage.client, "Always", { namespace: NAMESPACE, name: NAME, node: LOST });
  await createNode(stage.client, "empty");
  if (isAway) await stage.stopWorker();
  clock.hurry();
  const since = clock.now().getTime();
  stage.sandbox.kubelets.stop(LOST);
  const seconds = () => (clock.now().getTime() - since) / 1000;
  await until(async () => (await launcherOn(stage))?.metadata.deletionTimestamp !== undefined);
  const deleted = seconds();
  // An administrator or a health check adds this taint if the machine is off.
  const lost = await stage.client.get(nodes, { name: LOST });
  const taints = [...(lost?.spec?.taints ?? []), OUT_OF_SERVICE];
  await stage.client.patch(nodes, { name: LOST }, { type: "merge", body: { spec: { taints } } });
  await until(async () => {
    const { status } = (await stage.client.get(kubevirt.virtualMachineInstances, KEY)) ?? {};
    return status?.phase === "Running" && status.nodeName === "empty";
  });
  const started = seconds();
  if (isAway) await stage.restartWorker();
  return { deleted, started };
}

const KEY = { namespace: NAMESPACE, name: NAME };
const until = (condition: () => Promise<boolean>) =>
  expect.poll(condition, { timeout: TIMEOUT_MS, interval: 50 }).toBe(true);

async function launcherOn({ client }: SimulatedStage) {
  const { items } = await client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${LOST}` });
  return items[0];
}

// prettier-ignore
test.for<readonly [string, Lifeboat]>([
  ["without Lifeboat's guard",               { isGuarding: false, isAway: false }],
  ["with the guard and Lifeboat running",    { isGuarding: true,  isAway: false }],
  ["with the guard and Lifeboat down",       { isGuarding: true,  isAway: true  }],
])("%s, a VM of a lost node starts elsewhere within minutes", { timeout: TIMEOUT_MS, tags: ["nightly"] }, async ([, lifeboat], context) => {
  const { deleted, started } = await loseNode(context, lifeboat);
  expect(deleted).toBeLessThanOrEqual(MOST_SECONDS + BUSY_SECONDS);
  expect(started - deleted).toBeLessThanOrEqual(BUSY_SECONDS);
});

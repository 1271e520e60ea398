/**
 * One cluster and one Worker for all tests of a file that want the same ones: after each test everything is deleted that it has made.
 * Starting another costs a second.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, type TestContext } from "vitest";
import { IS_REAL } from "../../infra/lab/stage/control-plane.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { core, type KubeClient, kubevirt, type SimulatedSandbox } from "../../infra/sandbox/index.ts";
import type { Form } from "./form.ts";
import { NODE as OF_LIFEBOAT } from "./in-cluster-form.ts";
import {
  type Installation,
  installSimulated,
  openQueue,
  QUICK,
  SHORT,
  type SimulatedStage,
  type SimulatedStageOptions,
  type Stage,
  stageOn,
  type StageOptions,
  startStage,
} from "./stage.ts";

export interface Stages {
  (options?: StageOptions): Promise<Stage>;
  /** For tests with a tag of test/support/setup/simulated-only.ts. */
  simulated(options?: SimulatedStageOptions): Promise<SimulatedStage>;
}

interface Used {
  readonly stage: Stage;
  readonly key?: string;
  readonly installation?: Installation<SimulatedSandbox>;
}

/** Each ends with its test. A real control plane is used again by itself. */
export function useStages(): Stages {
  const idle = new Map<string, Installation<SimulatedSandbox>>();
  const used: Used[] = [];

  afterEach(async ({ task }: TestContext) => {
    for (const { stage, key, installation } of used.splice(0)) {
      await stage.leave();
      const isClear = task.result?.state !== "fail" && installation !== undefined && (await clear(installation));
      if (isClear && key !== undefined && !idle.has(key)) idle.set(key, installation);
      else await stage.stop();
    }
  });
  afterAll(async () => {
    for (const { sandbox, form } of idle.values()) {
      await form.stop();
      await sandbox.stop();
    }
  });

  async function simulated(options: SimulatedStageOptions = {}): Promise<SimulatedStage> {
    const key = keyOf(options);
    const installation = idle.get(key) ?? (await installSimulated(options));
    const isNew = !idle.delete(key);
    const stage = await stageOn(installation, options);
    used.push({ stage, key, installation });
    if (!isNew) await prepare(installation, stage, options);
    return stage;
  }

  const start = async (options: StageOptions = {}): Promise<Stage> => {
    if (!IS_REAL) return await simulated(options);
    const stage = await startStage(options);
    used.push({ stage });
    return stage;
  };
  return Object.assign(start, { simulated });
}

/** What a stage can be given later. */
const CHANGEABLE = new Set([
  "nodes",
  "configuration",
  "ticking",
  "onLog",
  "migrationSeconds",
  "evacuationController",
  "deschedulerAnnotations",
]);

/** A clock is its test's own. */
function keyOf(options: SimulatedStageOptions): string {
  if (options.clock !== undefined) return crypto.randomUUID();
  return JSON.stringify(Object.entries(options).filter(([name]) => !CHANGEABLE.has(name)));
}

async function prepare(
  installation: Installation<SimulatedSandbox>,
  stage: Stage,
  options: SimulatedStageOptions,
): Promise<void> {
  const { sandbox } = installation;
  installation.onLog = options.onLog ?? (() => undefined);
  sandbox.migrations.configure({ seconds: options.migrationSeconds ?? SHORT.migrationSeconds });
  sandbox.evacuationController.enabled = options.evacuationController ?? true;
  sandbox.deschedulerAnnotations.enabled = options.deschedulerAnnotations ?? false;
  await stage.configure(options.configuration ?? QUICK);
  // It reads the settings anew.
  await stage.reconcile();
}

const LIFEBOAT = "lifeboat-system";
const KEPT = new RegExp(`^(?:default|kube-.*|kubevirt|${LIFEBOAT})$`);
const OF_DESCHEDULING = [
  [core.configMaps, "lifeboat-descheduler"],
  [core.leases, "lifeboat-descheduling"],
] as const;
const VMS = [evacuations, kubevirt.migrations, kubevirt.virtualMachineInstances];
const REST = [core.pods, core.podDisruptionBudgets, core.events];

async function isUp(form: Form): Promise<boolean> {
  const answer = await form
    .current()
    .fetch("/healthz")
    .catch(() => undefined);
  return answer?.status === 200;
}

/** False if the cluster cannot be made as it was; what still migrates would take longer than another stage. */
async function clear({ sandbox, form }: Installation<SimulatedSandbox>): Promise<boolean> {
  const { client, migrations, kubelets, apiServer } = sandbox;
  apiServer.faults.clear();
  migrations.configure({ outcome: () => "Succeeded", backoffSeconds: 20, postCopy: () => false });
  await openQueue(client);
  const { items } = await client.list(kubevirt.migrations);
  if (items.some(({ status }) => !kubevirt.isFinal(status)) || !(await isUp(form))) return false;
  const nodes = (await client.list(core.nodes)).items.filter(({ metadata }) => metadata.name !== OF_LIFEBOAT);
  for (const { metadata } of nodes) kubelets.start(metadata.name);
  const namespaces = (await client.list(core.namespaces)).items.filter(({ metadata }) => !KEPT.test(metadata.name));
  const areEmpty = await Promise.all(namespaces.map(({ metadata }) => isEmptied(client, metadata.name)));
  await Promise.all(nodes.map(({ metadata }) => client.delete(core.nodes, { name: metadata.name })));
  await Promise.all(OF_DESCHEDULING.map(([resource, name]) => client.delete(resource, { namespace: LIFEBOAT, name })));
  await client.deleteAll(core.events, LIFEBOAT);
  return !areEmpty.includes(false);
}

/** Of what has not ended, only its account may delete Evacuations, as when a namespace goes. */
const NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller";

const PATIENCE_MS = 1_500;

/** False if something in the namespace takes its time to go. */
export async function isEmptied(admin: KubeClient, namespace: string): Promise<boolean> {
  const client = admin.as(NAMESPACE_CONTROLLER, ["system:masters", "system:authenticated"]);
  const isEmpty = async (resource: core.Resource) =>
    (await client.list(resource, namespace, { limit: 1 })).items.length === 0;
  const areGone = async (resources: readonly core.Resource[]) => {
    for (const resource of resources)
      if (!(await isEmpty(resource))) await client.deleteAll(resource, namespace, { gracePeriodSeconds: 0 });
    const end = performance.now() + PATIENCE_MS;
    for (const resource of resources)
      while (!(await isEmpty(resource)))
        if (performance.now() > end) return false;
        else await delay(20);
    return true;
  };
  // Their pods go with them.
  return (await areGone(VMS)) && (await areGone(REST));
}

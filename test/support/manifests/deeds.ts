/** Lists Lifeboat's actions. Together they need every permission in the shipped manifests. */
import { rolledBefore, rolling, steered, steering } from "./rolling-situations.ts";
import * as z from "zod/mini";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { core } from "../../../infra/sandbox/index.ts";
import { SHIELD_LABEL } from "../../../shared/kube/names.ts";
import type { Answer } from "../app.ts";
import { NOW } from "../fixtures.ts";
import { evictionOf } from "../reviews.ts";
import { deschedule } from "./descheduling-deed.ts";
import * as situations from "./situations.ts";
import { ask, evacuations, NODE, POD, SECOND, type Steps, type Trial, visit, VMI } from "./trial.ts";

const ALONE = { disruptionBudgets: "Never", evacuation: { adoptSeconds: 0 } };
const OFF = { disruptionBudgets: "Never" };
const BUDGETS = { disruptionBudgets: "Always" };

const SHIELDING = {
  ...OFF,
  featureGates: { NodePressureEvictionLiveMigration: true },
  shield: { maxPodGracePeriodSeconds: 600 },
};

const reconcile = (trial: Trial) => ask(trial, "POST", "/reconcile");

/** Withdraws the VM's Evacuations as `lifeboat cancel` does, and reconciles the VM. */
async function cancel(trial: Trial): Promise<Answer> {
  const { client } = trial.cluster;
  const { items } = await client.list(evacuations, VMI.namespace);
  const body = { spec: { intent: "Withdrawn" } };
  for (const { metadata } of items) await client.patch(evacuations, metadata, { type: "merge", body });
  return await reconcile(trial);
}

/** Sends an eviction as a drain does, and waits for Lifeboat's work after the answer. */
async function evict({ app }: Trial): Promise<Answer> {
  const answer = await app.evict(evictionOf(POD));
  await app.settle();
  return answer;
}

const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

/** Signs in to the page with the token of Lifeboat's service account. */
async function signIn(trial: Trial): Promise<Answer> {
  const account = { namespace: "lifeboat-system", name: "lifeboat" };
  const spec = { audiences: ["lifeboat"] };
  const { status } = TokenRequest.parse(
    await trial.cluster.client.post(core.serviceAccounts, account, "token", { spec }),
  );
  return await trial.app.request("/signin", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token: status.token }).toString(),
  });
}

async function tick({ app }: Trial): Promise<undefined> {
  await app.tick(tickTime("prod", "small", NOW));
}

const drained = (trial: Trial) => situations.evacuating(trial, "ApiEviction");

const steps = <D extends string>(deeds: Readonly<Record<D, Steps>>) => deeds;

export const DEEDS = steps({
  evict: { configuration: ALONE, given: situations.createdVm, done: evict },
  "forecast a drain": {
    configuration: OFF,
    given: situations.storing,
    done: (trial) => visit(trial, `/nodes/${NODE.name}`),
  },
  "join an evacuation": {
    configuration: OFF,
    given: situations.createdVm,
    done: evict,
    meanwhile: situations.startedMeanwhile,
  },
  cancel: { configuration: ALONE, given: drained, done: cancel },
  "cancel a pending migration": {
    given: async (trial) => {
      await drained(trial);
      await situations.createdMigration(trial);
    },
    done: cancel,
  },
  "adopt an evacuationNodeName": {
    configuration: ALONE,
    given: situations.created("LiveMigrate", { evacuationNodeName: "node01" }),
    done: reconcile,
  },
  "end the back-off of a migration": {
    configuration: OFF,
    given: situations.delayedAndRetried,
    done: tick,
  },
  "evacuate a tainted node": {
    configuration: ALONE,
    given: async (trial) => {
      await situations.createdVm(trial);
      await situations.tainted(trial, "kubevirt.io/drain", "NoSchedule");
    },
    done: reconcile,
  },
  "notice that a taint was removed": {
    configuration: ALONE,
    given: (trial) => situations.evacuating(trial, "DrainTaint"),
    done: tick,
  },
  "evacuate a node under pressure": {
    configuration: { ...OFF, featureGates: { NodePressureEvictionLiveMigration: true } },
    given: situations.underPressure,
    done: reconcile,
  },
  shield: { configuration: SHIELDING, given: situations.shieldable, done: reconcile },
  "renew the shield": {
    configuration: SHIELDING,
    given: async (trial) => {
      await situations.shieldable(trial);
      // The time in this label is long ago, so Lifeboat renews the label.
      await trial.cluster.patchVmi(VMI.name, { metadata: { labels: { [SHIELD_LABEL]: "1" } } });
    },
    done: tick,
  },
  "delete a pod after its deadline": {
    configuration: { ...OFF, featureGates: { NoExecuteTaintEvictionLiveMigration: true } },
    given: situations.overdue,
    done: tick,
  },
  // This action runs without a LifeboatConfiguration. With a LifeboatConfiguration, Lifeboat also lists budgets to
  // write its conditions.
  "create a budget": { given: situations.createdVm, done: reconcile },
  "see that no budget is necessary": {
    configuration: { featureGates: { PreemptionEvictionLiveMigration: true } },
    given: situations.covered,
    done: reconcile,
  },
  refuse: {
    configuration: BUDGETS,
    given: async ({ cluster }) => {
      await cluster.createVm({ name: VMI.name, strategy: "LiveMigrate", migratable: false });
    },
    done: evict,
  },
  "repair a budget": {
    configuration: BUDGETS,
    given: async (trial) => {
      await situations.createdVm(trial);
      await reconcile(trial);
      const { client } = trial.cluster;
      const { items } = await client.list(core.podDisruptionBudgets, VMI.namespace);
      const body = { spec: { minAvailable: 1 } };
      for (const { metadata } of items)
        await client.patch(core.podDisruptionBudgets, metadata, { type: "merge", body });
    },
    done: reconcile,
  },
  "delete a budget": {
    configuration: BUDGETS,
    given: async (trial) => {
      await situations.created("LiveMigrateIfPossible")(trial);
      await reconcile(trial);
      const conditions = [{ type: "LiveMigratable", status: "False" }];
      await trial.cluster.patchVmi(VMI.name, { status: { conditions } });
    },
    done: reconcile,
  },
  "end an evacuation": { configuration: ALONE, given: situations.moved, done: reconcile },
  "delete an old evacuation": { configuration: ALONE, given: situations.history, done: reconcile },
  "annotate a pod": {
    configuration: {
      ...ALONE,
      featureGates: { DeschedulerSupport: true },
    },
    given: situations.createdVm,
    done: reconcile,
  },
  "drain a node": { configuration: ALONE, given: situations.maintained, done: reconcile },
  "see that a node is drained": { configuration: ALONE, given: situations.vacated, done: reconcile },
  "cancel the drain of a node": {
    configuration: ALONE,
    given: async (trial) => {
      await situations.maintained(trial);
      await reconcile(trial);
    },
    done: async (trial) => {
      const body = { spec: { intent: "Withdrawn" } };
      await trial.cluster.client.patch(nodeEvacuations, { name: "kernel" }, { type: "merge", body });
      return await reconcile(trial);
    },
  },
  "drain several nodes": { configuration: ALONE, given: rolling(), done: reconcile },
  "taint a node of a RollingMaintenance": { configuration: ALONE, given: steering, done: steered },
  "delete an old RollingMaintenance": { configuration: ALONE, given: rolledBefore, done: reconcile },
  "restart a VM": { configuration: ALONE, given: situations.pinned("Restart"), done: reconcile },
  "stop a VM": { configuration: ALONE, given: situations.pinned("ShutDown"), done: reconcile },
  "start a stopped VM, and delete its NodeEvacuation": {
    configuration: ALONE,
    given: situations.maintainedBefore,
    done: async (trial) => {
      // The first full scan starts the VM. The second full scan sees the running VM. The third full scan deletes old
      // objects.
      await reconcile(trial);
      await reconcile(trial);
      await reconcile(trial);
    },
  },
  "sign in": { done: signIn },
  "report on the configuration": { configuration: OFF, done: reconcile },
  "evict by policy": {
    ...deschedule,
    given: async (trial) => {
      await situations.created("None")(trial);
      await deschedule.given(trial);
    },
  },
  deschedule: {
    ...deschedule,
    given: async (trial) => {
      // Descheduling evicts the VM with the eviction strategy None, and creates an Evacuation for a VM that can migrate.
      await situations.created("None")(trial);
      await deschedule.given(trial);
    },
  },
  "deschedule again": {
    ...deschedule,
    given: async (trial) => {
      await situations.created("None")(trial);
      await deschedule.given(trial);
    },
    done: async (trial) => {
      await deschedule.done(trial);
      await trial.cluster.createVm({ name: SECOND.name, strategy: "None" });
      return await deschedule.done(trial);
    },
  },
});

/**
 * A stage for NodeEvacuations with the shipped manifests. Each test evacuates its own node with a NodeEvacuation of the
 * same name.
 */
import { afterAll, beforeAll } from "vitest";
import { type NodeEvacuation, nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import { core, waitFor } from "../../infra/sandbox/index.ts";
import { PATIENCE } from "../support/setup/simulated-only.ts";
import { NAMESPACE, type Stage, startStage } from "./stage.ts";
import { getVmi } from "./vm.ts";

export const MAINTENANCE = ["optional/maintenance/maintenance.yaml"];
export const PINNED = { migratable: false, reason: "InterfaceNotLiveMigratable" };

export const vm = (name: string, node: string, more: object = {}) => ({
  namespace: NAMESPACE,
  name,
  evictionStrategy: "LiveMigrate",
  node,
  ...more,
});

export function useMaintenance(optional: readonly string[] = MAINTENANCE) {
  let started: Stage | undefined;
  beforeAll(async () => void (started = await startStage({ relay: true, optional })));
  afterAll(() => started?.stop());
  const stage = () => {
    if (started === undefined) throw new Error("the stage is not set yet");
    return started;
  };
  return {
    get stage() {
      return stage();
    },
    async empty(name: string, spec: object = {}): Promise<void> {
      await stage().client.create(nodeEvacuations, { metadata: { name }, spec: { nodeName: name, ...spec } });
    },
    until: (name: string, phase: string, is: (one: NodeEvacuation) => boolean = () => true) =>
      waitFor(stage().client, {
        resource: nodeEvacuations,
        key: { name },
        what: phase,
        until: (one) => one.status?.phase === phase && is(one),
        timeoutMs: 40_000 * PATIENCE,
      }),
    async change(name: string, spec: object): Promise<void> {
      await stage().client.patch(nodeEvacuations, { name }, { type: "merge", body: { spec } });
    },
    async setCordon(name: string, unschedulable: boolean): Promise<void> {
      await stage().client.patch(core.nodes, { name }, { type: "merge", body: { spec: { unschedulable } } });
    },
    isCordoned: async (name: string) => (await stage().client.get(core.nodes, { name }))?.spec?.unschedulable === true,
    nodeOf: async (name: string) => (await getVmi(stage().client, name)).status?.nodeName,
  };
}

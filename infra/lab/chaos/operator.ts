/**
 * What an operator does to the evacuations of one VM: creates, cancels and deletes them, or removes the mark; and KubeVirt's mark that
 * comes late.
 */
import { USERS } from "../../sandbox/identities.ts";
import { virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import { endingOf, type Evacuation, evacuations } from "../stage/evacuations.ts";
import type { VmHappening } from "./moment.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

interface Key {
  readonly namespace: string;
  readonly name: string;
}

export type OperatorAct = Extract<
  VmHappening["does"],
  "withdraw" | "evacuate" | "unmark" | "mark late" | "delete evacuations"
>;

const MARK = "/status/evacuationNodeName";

/** Resolves to whether it has changed anything. */
export async function operate(does: OperatorAct, key: Key, stage: Stage): Promise<boolean> {
  switch (does) {
    case "withdraw":
      return await withdraw(stage, key);
    case "evacuate": {
      const metadata = { generateName: `${key.name}-by-hand-`, namespace: key.namespace };
      const spec = { virtualMachineInstance: { name: key.name } };
      await stage.arena.sandbox.client.create(evacuations, { metadata, spec });
      return true;
    }
    case "unmark":
      await patchAsVirtApi(stage, key, [{ op: "remove", path: MARK }]);
      return true;
    case "mark late":
      return await markLate(stage, key);
    case "delete evacuations":
      return await deleteEvacuations(stage, key);
  }
}

function isOf({ metadata, spec }: Evacuation, { namespace, name }: Key): boolean {
  return metadata.namespace === namespace && spec.virtualMachineInstance.name === name;
}

/** By `kubectl patch`, of every evacuation of the VM that goes on. */
async function withdraw({ arena }: Stage, key: Key): Promise<boolean> {
  const all = [...arena.observer.evacuations.list()];
  const active = all.filter((evacuation) => isOf(evacuation, key) && endingOf(evacuation) === undefined);
  const body = { spec: { intent: "Withdrawn" } };
  for (const { metadata } of active) await arena.sandbox.client.patch(evacuations, metadata, { type: "merge", body });
  return active.length > 0;
}

/** It undoes what other clients write into the status. Throws if there is no mark to remove. */
async function patchAsVirtApi({ arena }: Stage, key: Key, body: readonly object[]): Promise<void> {
  const virtApi = arena.sandbox.client.as(USERS.virtApi.user, USERS.virtApi.groups);
  await virtApi.patch(virtualMachineInstances, key, { type: "json", body });
}

const LEAVES_WITHIN_MS = 3000;

/** As soon as the VM has left its node, its webhook marks it for that one. */
async function markLate(stage: Stage, key: Key): Promise<boolean> {
  const { vmis } = stage.arena.observer;
  const nodeOf = () => vmis.get(`${key.namespace}/${key.name}`)?.status?.nodeName;
  const left = nodeOf();
  if (!(await until(() => nodeOf() !== left, LEAVES_WITHIN_MS)) || nodeOf() === undefined) return false;
  await patchAsVirtApi(stage, key, [{ op: "add", path: MARK, value: left }]);
  return true;
}

/** By `kubectl delete`. */
async function deleteEvacuations({ arena, report }: Stage, key: Key): Promise<boolean> {
  const { client } = arena.sandbox;
  const { items } = await client.list(evacuations, key.namespace);
  const remove = async ({ metadata }: Evacuation) => {
    const { uid, resourceVersion } = metadata;
    // Of the version that was read: it may end meanwhile.
    return await client.delete(evacuations, metadata, { preconditions: { uid, resourceVersion } }).catch(() => false);
  };
  const all = items.filter((one) => isOf(one, key));
  return await deleteAll(all, remove, report);
}

/** Those that have not ended must stay, whoever asks. */
export async function deleteAll(
  all: readonly Evacuation[],
  remove: (evacuation: Evacuation) => Promise<boolean>,
  report: (what: string) => void,
): Promise<boolean> {
  let deleted = false;
  for (const evacuation of all) {
    const isGone = await remove(evacuation);
    deleted ||= isGone;
    const { name } = evacuation.spec.virtualMachineInstance;
    if (isGone && endingOf(evacuation) === undefined) report(`${name}'s evacuation was deleted before its end`);
  }
  return deleted;
}

/** Checks the goal of a run: every VM leaves its node, unless the VM's strategy or owner prevents the move. */
import { isFinal, migrations, type VirtualMachineInstance } from "../../sandbox/index.ts";
import type { Run } from "./fault.ts";
import { FAULTS } from "./fault-names.ts";
import { type ChaosVm, DRAINED, isRefused, isStuck } from "./vms.ts";

/**
 * Describes each part of the goal that the run has not reached, for example a VM that has not left its node although it
 * must. `abandoned` contains the UIDs of VMIs whose Evacuation is abandoned.
 */
export function missingIn(run: Run, abandoned: ReadonlySet<string>): readonly string[] {
  const { plan, drain } = run;
  const drained = plan.vms.filter(({ place }) => place === DRAINED);
  const hasLeft = (vm: ChaosVm): boolean => {
    const vmi = whereItBegan(vm, run);
    return vmi === undefined || !vm.mustLeave || (isStuck(vm) && abandoned.has(vmi.metadata.uid));
  };
  const isTakenAway = (vm: ChaosVm): boolean =>
    isRefused(vm) && liveVmi(vm, run) !== undefined && whereItBegan(vm, run) === undefined;
  return [
    ...plan.vms.filter((vm) => !hasLeft(vm)).map(({ name, place }) => `${name} has not left the node (${place})`),
    ...drained.filter(isTakenAway).map(({ name }) => `${name} has left its node, although its evictions are refused`),
    ...(drain.isDone || drained.some((vm) => isStuck(vm) || isRefused(vm)) ? [] : ["the drain has not ended"]),
    ...plan.faults.flatMap((name) => FAULTS[name].expect?.(run) ?? []),
  ];
}

function whereItBegan(vm: ChaosVm, run: Run): VirtualMachineInstance | undefined {
  const vmi = liveVmi(vm, run);
  return vmi?.status?.nodeName === run.nodeOf(vm.place) ? vmi : undefined;
}

function liveVmi({ name }: ChaosVm, { cluster, namespace }: Run): VirtualMachineInstance | undefined {
  const vmi = cluster.observer.vmis.get(`${namespace}/${name}`);
  return vmi === undefined || isFinal(vmi.status) || vmi.metadata.deletionTimestamp !== undefined ? undefined : vmi;
}

/** Simulates the external controller, which migrates External VMs whose evacuationNodeName is their current node. */
export async function actAsExternalController({ cluster, client, plan, namespace }: Run): Promise<void> {
  for (const { name } of plan.vms.filter(({ strategy }) => strategy === "External")) {
    const status = cluster.observer.vmis.get(`${namespace}/${name}`)?.status;
    if (status?.evacuationNodeName === undefined || status.evacuationNodeName !== status.nodeName) continue;
    const own = [...cluster.observer.migrations.list()].filter(
      ({ metadata, spec }) => spec.vmiName === name && metadata.namespace === namespace,
    );
    if (own.some((migration) => !isFinal(migration.status))) continue;
    const metadata = { generateName: `${name}-leaves-`, namespace };
    // The request fails if the API server is unavailable or another client migrates the VM. The next call tries again.
    await client.create(migrations, { metadata, spec: { vmiName: name } }).catch(() => undefined);
  }
}

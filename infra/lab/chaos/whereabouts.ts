/** What a VM that has not left was waiting for, in words: for the person who looks into a run that failed. */
import { findCondition } from "../../sandbox/actors/conditions.ts";
import { isFinal, LABEL } from "../../sandbox/kubevirt/resources.ts";
import type { Cluster } from "./rest.ts";

/** `missing`: sentences that begin with a VM's name, of which those about VMs get some more words. */
export function withWhereabouts(missing: readonly string[], cluster: Cluster): readonly string[] {
  const names = new Set(cluster.vmis.map(({ metadata }) => metadata.name));
  return missing.map((sentence) => {
    const [name = ""] = sentence.split(" ");
    return names.has(name) ? `${sentence}: ${whereaboutsOf(name, cluster)}` : sentence;
  });
}

function whereaboutsOf(name: string, { vmis, pods, migrations, evacuations }: Cluster): string {
  const vmi = vmis.find(({ metadata }) => metadata.name === name);
  const launchers = pods.filter(
    ({ metadata, status }) => metadata.labels?.[LABEL.createdBy] === vmi?.metadata.uid && !isFinal(status),
  );
  const asked = evacuations.filter(({ spec }) => spec.virtualMachineInstance.name === name);
  const moves = migrations.filter(({ spec }) => spec.vmiName === name);
  return [
    `marked for ${vmi?.status?.evacuationNodeName ?? "nothing"}`,
    ...launchers.map(({ metadata, status }) => {
      const { reason = "no disruption" } = findCondition(status?.conditions, "DisruptionTarget") ?? {};
      return `pod ${metadata.name}: ${reason}${metadata.deletionTimestamp === undefined ? "" : ", deleted"}`;
    }),
    ...asked.map(({ status }) => `evacuation ${status?.phase ?? "new"}: ${status?.message ?? ""}`),
    ...moves.map(({ metadata, status }) => `migration ${metadata.name} ${status?.phase ?? "new"}`),
  ].join("; ");
}

/** The descheduler's policy in every run: VMs leave nodes with a taint they do not tolerate. */
import { dump } from "js-yaml";
import { WIRE } from "./wire.ts";

/** So many evacuations of one node are asked for at a time. */
export const EVACUATIONS_PER_NODE = 2;

export const RETIRED_TAINT = { key: "retired", value: "true", effect: "NoSchedule" };

const PROFILE = {
  name: "virtual-machines",
  pluginConfig: [
    {
      name: "DefaultEvictor",
      args: {
        podProtections: { defaultDisabled: ["PodsWithLocalStorage"] },
        labelSelector: { matchLabels: { "kubevirt.io": "virt-launcher" } },
      },
    },
    { name: "RemovePodsViolatingNodeTaints", args: { includedTaints: [RETIRED_TAINT.key] } },
  ],
  plugins: { deschedule: { enabled: ["RemovePodsViolatingNodeTaints"] } },
};

export const DESCHEDULER_POLICY = {
  metadata: { namespace: WIRE.namespace, name: WIRE.policy.name },
  data: {
    [WIRE.policy.key]: dump({
      apiVersion: "descheduler/v1alpha2",
      kind: "DeschedulerPolicy",
      maxNoOfPodsEvacuationsPerNode: EVACUATIONS_PER_NODE,
      profiles: [PROFILE],
    }),
  },
};

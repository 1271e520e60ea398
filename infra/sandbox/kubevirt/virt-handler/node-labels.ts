/** What virt-handler's node labeller says of a node's virtualization: all nodes are alike. */
const MODEL = "Cascadelake-Server";

export const NODE_LABELS = {
  [`cpu-model.node.kubevirt.io/${MODEL}`]: "true",
  [`cpu-model-migration.node.kubevirt.io/${MODEL}`]: "true",
  [`host-model-cpu.node.kubevirt.io/${MODEL}`]: "true",
  "cpu-vendor.node.kubevirt.io/Intel": "true",
  "machine-type.node.kubevirt.io/q35": "true",
} as const;

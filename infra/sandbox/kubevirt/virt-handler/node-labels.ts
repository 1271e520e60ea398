/** The labels that virt-handler's node labeller gives a node. */
const MODEL = "Cascadelake-Server";
const HOST_CPU = "host-model-cpu.node.kubevirt.io/";

const CPU = {
  [`cpu-model.node.kubevirt.io/${MODEL}`]: "true",
  [`cpu-model-migration.node.kubevirt.io/${MODEL}`]: "true",
  [`${HOST_CPU}${MODEL}`]: "true",
  "cpu-vendor.node.kubevirt.io/Intel": "true",
} as const;

/** Returns a node's labels. All nodes are alike, except those that were created with another CPU. */
export function nodeLabels(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const hasOwn = Object.keys(labels).some((key) => key.startsWith(HOST_CPU) && !(key in CPU));
  return { ...(!hasOwn && CPU), "machine-type.node.kubevirt.io/q35": "true" };
}

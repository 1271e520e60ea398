/** The labels that virt-handler's node labeller adds to nodes. */
const MODEL = "Cascadelake-Server";
const HOST_CPU = "host-model-cpu.node.kubevirt.io/";

const CPU = {
  [`cpu-model.node.kubevirt.io/${MODEL}`]: "true",
  [`cpu-model-migration.node.kubevirt.io/${MODEL}`]: "true",
  [`${HOST_CPU}${MODEL}`]: "true",
  "cpu-vendor.node.kubevirt.io/Intel": "true",
} as const;

/** Returns the same labels for all nodes, unless the node was created with another CPU's labels. */
export function nodeLabels(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const hasOwn = Object.keys(labels).some((key) => key.startsWith(HOST_CPU) && !(key in CPU));
  return { ...(!hasOwn && CPU), "machine-type.node.kubevirt.io/q35": "true" };
}

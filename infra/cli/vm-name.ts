/** Which virtual machine a command is about: `web`, `vm web`, `vm/web`, with KubeVirt's names of both kinds. */
import { UsageError } from "../tools/console/arguments.ts";

const KINDS = ["vm", "vms", "virtualmachine", "vmi", "vmis", "virtualmachineinstance"];

/** The VMI's name; it is that of its VM. */
export function vmNameOf(words: readonly string[]): string {
  const [first = "", ...rest] = words.length === 1 ? (words[0] ?? "").split("/") : words;
  const isKind = rest.length > 0 && KINDS.includes(first.toLowerCase());
  const [name = "", ...more] = isKind ? rest : [first, ...rest];
  if (name === "") throw new UsageError("VM: expected the name of a virtual machine");
  if (more.length > 0) throw new UsageError(`VM: expected one name, got "${words.join(" ")}"`);
  return name;
}

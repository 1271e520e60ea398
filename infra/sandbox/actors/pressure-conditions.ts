/** A node's pressure conditions, with the kubelet's reasons and messages. */
import type { Condition } from "./conditions.ts";

// prettier-ignore
const TABLE = [
  { type: "MemoryPressure", under: ["KubeletHasInsufficientMemory", "kubelet has insufficient memory available"], else: ["KubeletHasSufficientMemory", "kubelet has sufficient memory available"] },
  { type: "DiskPressure",   under: ["KubeletHasDiskPressure",       "kubelet has disk pressure"],                 else: ["KubeletHasNoDiskPressure",   "kubelet has no disk pressure"]            },
  { type: "PIDPressure",    under: ["KubeletHasInsufficientPID",    "kubelet has insufficient PID available"],    else: ["KubeletHasSufficientPID",    "kubelet has sufficient PID available"]    },
] as const;

export function pressureConditions(
  isUnder: (type: string) => boolean,
): readonly Omit<Condition, "lastTransitionTime">[] {
  return TABLE.map(({ type, under, else: relieved }) => {
    const [reason, message] = isUnder(type) ? under : relieved;
    return { type, status: isUnder(type) ? "True" : "False", reason, message };
  });
}

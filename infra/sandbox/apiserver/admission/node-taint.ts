/** The TaintNodesByCondition admission plugin. It adds the not-ready taint to each new node. */
import type { ResourceContext } from "../context.ts";
import { childOf, type KubeObject, recordsAt } from "../objects.ts";

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

export function admitNodeTaint({ kind }: ResourceContext, object: KubeObject): KubeObject {
  if (kind.kind !== "Node") return object;
  const taints = recordsAt(object, "spec.taints");
  if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return object;
  childOf(object, "spec")["taints"] = [...taints, NOT_READY];
  return object;
}

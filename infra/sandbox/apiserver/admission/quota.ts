/** The ResourceQuota admission plugin, for the number of pods. */
import { type ResourceContext, collectionOf } from "../context.ts";
import { RESOURCE_QUOTAS } from "../kinds/others.ts";
import { PODS } from "../kinds/pods.ts";
import { type KubeObject, fieldAt, stringAt } from "../objects.ts";
import { parsedOnce } from "../store.ts";
import { forbid } from "./review.ts";

/** Refuses a pod that exceeds a quota. The server calls this function after all webhooks. */
export function requireQuota(ctx: ResourceContext, object: KubeObject): void {
  const { namespace, subresource } = ctx.info;
  if (ctx.kind !== PODS || subresource !== "") return;
  for (const quota of collectionOf(ctx.state, RESOURCE_QUOTAS).list(namespace).map(parsedOnce)) {
    const limited = fieldAt(quota, "spec.hard.pods");
    if (limited === undefined) continue;
    const used = ctx.collection.list(namespace).filter((pod) => isLiving(parsedOnce(pod))).length;
    if (used < Number(limited)) continue;
    const message = `exceeded quota: ${quota.metadata.name}, requested: pods=1, used: pods=${used}, limited: pods=${Number(limited)}`;
    forbid(ctx, object, message);
  }
}

function isLiving(pod: KubeObject): boolean {
  return !["Succeeded", "Failed"].includes(stringAt(pod, "status.phase"));
}

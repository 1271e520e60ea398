/**
 * kube-controller-manager's cluster role aggregation. An aggregationRule in a ClusterRole selects other ClusterRoles.
 * The controller copies the rules of the selected ClusterRoles into the ClusterRole with the aggregationRule.
 */
import { isDeepStrictEqual } from "node:util";
import { matchesSelector } from "../labels.ts";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { clusterRoles, keyOf } from "./resources.ts";

const MANAGER = { fieldManager: "clusterrole-aggregation-controller", force: true };

export function startClusterRoleAggregation(options: ActorOptions): Actor {
  const { client } = options;
  const roles = startInformer({ ...options, resource: clusterRoles });

  const reconcile = async (key: string): Promise<Result> => {
    await roles.synced;
    const role = roles.get(key);
    const selectors = role?.aggregationRule?.clusterRoleSelectors;
    if (role === undefined || selectors === undefined) return undefined;
    const others = [...roles.list()].filter((other) => other !== role);
    others.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const rules = selectors
      .flatMap((selector) => others.filter(({ metadata }) => matchesSelector(selector, metadata.labels ?? {})))
      .flatMap((other) => other.rules ?? [])
      .filter((rule, index, all) => all.findIndex((one) => isDeepStrictEqual(one, rule)) === index);
    if (isDeepStrictEqual(rules, role.rules ?? [])) return undefined;
    const body = { apiVersion: clusterRoles.apiVersion, kind: clusterRoles.kind, metadata: { name: key }, rules };
    await client.patch(clusterRoles, role.metadata, { type: "apply", body }, { query: MANAGER });
    return undefined;
  };

  const controller = startController({ name: "clusterrole-aggregation", reconcile, ...options });
  controller.watch(roles, () => [...roles.list()].filter(({ aggregationRule }) => aggregationRule).map(keyOf));
  return actorOf([controller], [roles]);
}

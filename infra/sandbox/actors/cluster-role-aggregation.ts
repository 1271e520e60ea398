/**
 * kube-controller-manager's cluster role aggregation: a ClusterRole with an aggregationRule has the rules of all that it
 * selects.
 * Owns: gathering them. Does not own: which roles are aggregated to which (the API server's bootstrap policy, whoever adds
 * to it).
 */
import { isDeepStrictEqual } from "node:util";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { clusterRoles, keyOf } from "./resources.ts";
import { matchesSelector } from "../labels.ts";

const MANAGER = { fieldManager: "clusterrole-aggregation-controller", force: true };

export function startClusterRoleAggregation(options: ActorOptions): Actor {
  const { client } = options;
  const roles = startInformer({ ...options, resource: clusterRoles });

  const reconcile = async (key: string): Promise<Result> => {
    const role = roles.get(key);
    const selectors = role?.aggregationRule?.clusterRoleSelectors;
    if (role === undefined || selectors === undefined) return undefined;
    await roles.synced;
    const others = [...roles.list()].filter((other) => other.metadata.name !== role.metadata.name);
    others.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const rules = selectors
      .flatMap((selector) => others.filter(({ metadata }) => matchesSelector(selector, metadata.labels ?? {})))
      .flatMap((other) => other.rules ?? [])
      .filter((rule, index, all) => all.findIndex((one) => isDeepStrictEqual(one, rule)) === index);
    if (isDeepStrictEqual(rules, role.rules ?? [])) return undefined;
    const { apiVersion, kind } = clusterRoles;
    const body = { apiVersion, kind, metadata: { name: role.metadata.name }, rules };
    await client.patch(clusterRoles, role.metadata, { type: "apply", body }, { query: MANAGER });
    return undefined;
  };

  const controller = startController({ name: "clusterrole-aggregation", reconcile, ...options });
  controller.watch(roles, () => [...roles.list()].filter(({ aggregationRule }) => aggregationRule).map(keyOf));
  return actorOf([controller], [roles]);
}

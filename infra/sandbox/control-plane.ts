/** The controllers of kube-controller-manager that run in every sandbox. */
import { actorOf, type Actor, type ActorOptions } from "./actors/actor.ts";
import { startClusterRoleAggregation } from "./actors/cluster-role-aggregation.ts";
import { startDisruptionController } from "./actors/disruption.ts";
import { startGarbageCollector } from "./actors/garbage-collector.ts";
import { startLeaderLease } from "./actors/leader-lease.ts";
import { startNamespaceController } from "./actors/namespaces.ts";
import { startServiceAccountTokenController, type TokenKeys } from "./actors/service-account-tokens.ts";
import type { Role } from "./identities.ts";

export function startControlPlane(optionsOf: (role: Role) => ActorOptions, keys: TokenKeys): Actor {
  const manager = optionsOf("controllerManager");
  return actorOf([
    startClusterRoleAggregation(optionsOf("clusterRoleAggregation")),
    startDisruptionController({ ...optionsOf("disruptionController"), reader: manager.client }),
    startLeaderLease(manager),
    startGarbageCollector(optionsOf("garbageCollector")),
    startNamespaceController({ ...optionsOf("namespaceController"), reader: manager.client }),
    startServiceAccountTokenController({ ...manager, ...keys }),
  ]);
}

/** The reads of a cluster under the names that some callers still use, over the client. */
import type { Action, NewEvacuation } from "../policy/action.ts";
import type { EvacuationFacts, NamespacedName, VmiFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { NodeWithResources } from "./kinds/scheduled-pod.ts";
import { type Client, type ClientOptions, createClient, named } from "../kube/client.ts";
import { countAll } from "../kube/read.ts";
import * as lists from "../kube/selections.ts";
import * as reviews from "../kube/reviews.ts";
import { sender } from "../kube/transport.ts";
import { act, type ActResult, createEvacuation, retry, withdraw } from "../pass/act.ts";

export interface ClusterOptions extends ClientOptions {
  readonly now: () => Date;
}

export interface Cluster extends Client, ReturnType<typeof underTheirNames> {
  countVmis(): Promise<number | undefined>;
}

export function connect(options: ClusterOptions): Cluster {
  const client = createClient(options);
  const send = sender(options.endpoint, options.signal, options.hold);
  return {
    ...client,
    ...underTheirNames(client, options.now),
    countVmis: () => countAll(send, "virtualmachineinstances"),
  };
}

type Scope = "All" | "Active" | "Unfinished" | NamespacedName | { readonly sourceNode: string };

export function underTheirNames(client: Client, now: () => Date) {
  return {
    getPod: (key: NamespacedName) => client.get("pods", key),
    getVmi: (key: NamespacedName) => client.get("virtualmachineinstances", key),
    listPodsOf: ({ namespace, uid }: VmiFacts) =>
      client.list("pods", { namespace, labels: { [names.CREATED_BY_LABEL]: uid } }),
    getNode: (name: string) => client.get("nodes", named(name)),
    listNodes: () => client.list("nodes"),
    listNodesWithRoom: () => client.list("nodes", { as: NodeWithResources }),
    listAllBudgets: () => client.list("poddisruptionbudgets"),
    listVmis: (scope: "All" | "Migrating" | { readonly node: string }): Promise<readonly VmiFacts[]> => {
      if (scope === "All") return client.list("virtualmachineinstances");
      return scope === "Migrating" ? lists.migratingVmis(client) : lists.vmisOn(scope.node, client);
    },
    listEvacuations: (scope: Scope): Promise<readonly EvacuationFacts[]> => {
      if (scope === "All") return client.list("evacuations");
      if (scope === "Active") return lists.activeEvacuations(client);
      if (scope === "Unfinished") return lists.unfinishedEvacuations(client);
      return "sourceNode" in scope
        ? lists.evacuationsFrom(scope.sourceNode, client)
        : lists.evacuationsOf(scope, client);
    },
    listMigrations: (vmi: NamespacedName) => lists.migrationsOf([vmi], client),
    listMigrationsOf: (vmis: readonly NamespacedName[]) => lists.migrationsOf(vmis, client),
    getConfigMap: (name: string) => client.get("configmaps", { namespace: names.LIFEBOAT_NAMESPACE, name }),
    getKubeVirt: () => lists.kubeVirt(client),
    getConfiguration: () => client.get("lifeboatconfigurations", named(names.CONFIGURATION)),
    isTokenAccepted: () => reviews.isTokenAccepted(client),
    userOf: (token: string, audience: string): Promise<reviews.ReviewedUser | undefined> =>
      reviews.userOf(token, audience, client),
    isAllowed: (user: reviews.ReviewedUser, right: reviews.Right) => reviews.isAllowed(user, right, client),
    /** Minor versions: Kubernetes 1.36 is 36, KubeVirt 1.9 is 9; undefined where they do not say. */
    async getMinorVersions() {
      const [version, kubevirt] = await Promise.all([client.get("version", named("version")), lists.kubeVirt(client)]);
      return { kubernetes: Number.parseInt(version?.minor ?? "", 10) || undefined, kubevirt: kubevirt?.minor };
    },
    createEvacuation: (evacuation: NewEvacuation) => createEvacuation(evacuation, client),
    withdraw: (evacuation: EvacuationFacts): Promise<ActResult> => withdraw(evacuation, client),
    retry: (evacuation: EvacuationFacts, at: Date): Promise<ActResult> => retry(evacuation, at, client),
    act: (action: Action): Promise<ActResult> => act(action, { cluster: client, now }),
  };
}

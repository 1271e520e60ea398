/** A ReplicaSet for the demo's ordinary pods: what is evicted is started again elsewhere. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { replicaSets } from "../../sandbox/actors/resources.ts";
import { waitFor } from "../../sandbox/actors/wait-for.ts";

export interface Replicas {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Of each pod. */
  readonly requests?: Readonly<Record<string, string>>;
}

/** Resolves when its pods run. */
export async function createReplicaSet(client: KubeClient, { replicas, requests = {}, ...key }: Replicas) {
  const labels = { app: key.name };
  const container = { name: key.name, image: `example.com/${key.name}`, resources: { requests } };
  await client.create(replicaSets, {
    metadata: key,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  await waitFor(client, {
    resource: replicaSets,
    key,
    what: "running",
    until: ({ status }) => status?.readyReplicas === replicas,
  });
}

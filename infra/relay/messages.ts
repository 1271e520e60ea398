/** All messages of the relay in log lines. Metrics have their texts in metrics.ts. */
export const RELAY_MESSAGES = {
  started: "started",
  stopping: "stopping",
  invalidEnvironment: "invalid environment",
  port: "expected a port",
  url: "expected the address of Lifeboat's Worker",
  httpsUrl: "expected an https:// URL, or http:// to loopback",
  cluster: "expected the name that this cluster has in the Worker's CLUSTERS",
  kubeconfig: "expected the path of one kubeconfig",
  kubeconfigOutsidePod: "expected the path of one kubeconfig: the relay does not run in a pod",
  noCurrentCluster: "the kubeconfig names no current cluster",
  notListening: "the server does not listen on a port",

  accepted: "Lifeboat accepts deliveries again",
  refusedBatch: "Lifeboat refused a batch: the relay sends the events again in smaller batches",
  refusedEvent: "Lifeboat refused an event: the relay drops it",
  notDelivered: "Lifeboat did not accept a delivery: the relay sends the whole delivery again",
  noAnswer: (ms: number) => `no answer within ${ms} ms`,

  synced: "synced",
  notSynced: "not synced yet\n",
  oddObject: "an object is too large or malformed: the relay knows only its identity",
  noObject: "ignored an item that is not an object",
  noVersion: "the list has no resourceVersion",
  watchEnded: "the API server ended a watch",
  watchFailed: "cannot watch, trying again",
  watchOf: (path: string) => `watch of ${path}`,
  largeEvent: "a watch event of more than 256 KiB",
  noEvent: "a line of the watch is not an event",
  namelessEvent:
    "cannot read a long watch event: its type is missing, or its object lacks a name, a UID or a resourceVersion",
} as const;

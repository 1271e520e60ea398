/** All messages of the relay, in log lines and at its start: what happened, and what it does. Metrics have their texts beside them. */
export const RELAY_MESSAGES = {
  // The start
  started: "started",
  stopping: "stopping",
  invalidEnvironment: "invalid environment",
  port: "expected a port",
  url: "expected the address of Lifeboat's Worker",
  httpsUrl: "expected an https:// URL, or http:// to loopback",
  cluster: "expected this cluster's name in the Worker's CLUSTERS",
  kubeconfig: "expected the path of one kubeconfig",
  kubeconfigOutsidePod: "expected the path of one kubeconfig: the relay does not run in a pod",
  noCurrentCluster: "the kubeconfig names no current cluster",
  notListening: "the server does not listen on a port",

  // Deliveries
  accepted: "Lifeboat accepts deliveries again",
  refusedBatch: "Lifeboat refused a batch: the relay sends half of it again",
  refusedEvent: "Lifeboat refused an event: the relay drops it",
  notDelivered: "Lifeboat did not accept a delivery: the relay sends all of it again",
  noAnswer: (ms: number) => `no answer within ${ms} ms`,

  // Lists and watches
  synced: "synced",
  notSynced: "not synced yet\n",
  oddObject: "an object is too large or malformed: only its identity is known",
  noObject: "ignored an item that is not an object",
  noVersion: "the list has no resourceVersion",
  watchEnded: "the API server ended a watch",
  watchFailed: "cannot watch, trying again",
  watchOf: (path: string) => `watch of ${path}`,
  largeEvent: "a watch event of more than 256 KiB",
  noEvent: "a line of the watch is not an event",
  namelessEvent: "a long line of the watch names no object",
} as const;

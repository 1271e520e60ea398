/**
 * All messages of the server in the cluster. A message about a missing Secret or key contains the command that creates
 * it.
 */
const HINT = "run lifeboat install, which creates what is missing";

export const SERVER_MESSAGES = {
  // Messages at the start
  notInPod: "expected to run in a pod",
  clusterName: "expected letters, digits, `-`, `_` or `.`",
  podName: "expected the name of this pod",

  // Messages about the Secret
  noSecret: (where: string) => `there is no ${where}: ${HINT}`,
  incompleteSecret: (where: string, lacking: readonly string[]) => `${where} has no ${lacking.join(", no ")}: ${HINT}`,
  secret: (name: string, namespace: string) => `Secret ${name} in namespace ${namespace}`,
  certificateFor: (host: string) => `tls.crt for ${host} with a matching tls.key`,
  longToken: (key: string) => `${key} of at least 16 characters`,

  // Work that can fail, for log lines about failures
  holdingLease: "holding the Lease",
  scheduledTick: "the scheduled tick",
  readingSecret: "reading certificate and tokens",
} as const;

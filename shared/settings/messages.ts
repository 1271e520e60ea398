/**
 * All messages about the configuration, in conditions, log lines and `lifeboat doctor`. They say what is wrong and what
 * to do.
 */
const CERTIFICATE = "The certificate of Lifeboat's webhooks";
const RENEW = "run lifeboat install, or renew the certificate if you made it yourself";
const REPLACE = "replace it (infra/kubernetes/README.md#rotate)";

export const SETTINGS_MESSAGES = {
  // Conditions of the LifeboatConfiguration
  inForce: "The whole configuration applies",
  partlyInForce: (problems: readonly string[]) =>
    `${problems.join("; ")}. These fields have their defaults, unknown gates are off, and the other fields apply`,
  permitted: "Lifeboat has the permissions that this configuration needs",
  lacking: (permissions: readonly string[]) => `the service account is not allowed to ${permissions.join(", ")}`,
  webhookCalled: "The API server asks Lifeboat about evictions",
  notCalledYet: "Lifeboat has no record of an eviction review in this cluster, which is normal after an installation",
  allDecided: "Lifeboat could read what it needed for every eviction on record",
  undecided: (last: string) => `Lifeboat answered an eviction although it could not read what it needed: ${last}`,

  // The certificate
  certificateEnded: (end: string) =>
    `${CERTIFICATE} expired at ${end}, so the API server cannot call Lifeboat: ${RENEW}`,
  certificateEnds: (end: string) => `${CERTIFICATE} expires at ${end}: ${RENEW}`,
  certificateValid: (end: string) => `${CERTIFICATE} is valid until ${end}`,

  // The token
  tokenEnded: (end: string) => `Lifeboat's token of this cluster expired at ${end}: ${REPLACE}`,
  tokenEnds: (end: string, days: number) =>
    `Lifeboat's token of this cluster expires at ${end}, in less than ${days} days: ${REPLACE}`,
  tokenRejected: `The API server does not accept Lifeboat's token (401): it was revoked, or belongs to another cluster; ${REPLACE}`,
  tokenAccepted: (end: string) =>
    `The API server accepts Lifeboat's token, which ${end === "" ? "does not expire" : `expires at ${end}`}`,

  // The guard's policies
  policyWithoutGate: (policies: readonly string[]) =>
    `policies refuse deletions although their feature gates are off: ${policies.join(", ")}. After each refusal, Lifeboat itself deletes the pod within a minute`,
  policyMissing: (policies: readonly string[]) =>
    `policies do not exist: ${policies.join(", ")}. While Lifeboat is unavailable, deletions of VMs' pods succeed. Without lifeboat-hold-taints, deletions because of taints succeed at any time`,
  handlerEndsWithTaint:
    "virt-handler does not tolerate NoExecute taints: such a taint evicts virt-handler, and then no VM can leave the node",
  holds: "While Lifeboat is unavailable, the API server refuses to delete pods whose VMs have to move",

  // The webhook objects
  webhookMissing: (object: string) => `${object} does not exist: run lifeboat install`,
  webhookWrong: (object: string, problems: readonly string[]) =>
    `${object}: ${problems.join("; ")}: run lifeboat install`,
  webhookAbsent: (endpoint: string) => `it has no webhook ${endpoint}.lifeboat.dev`,
  webhookUntrusted: "its caBundle does not trust the certificate that Lifeboat serves",
  webhookPath: (cluster: string, endpoint: string) =>
    `its path is not /clusters/${cluster}/admission/${endpoint}/TOKEN, where TOKEN is a webhookToken of this cluster`,
  webhookToken: "the token in its path is not a webhookToken of this cluster",

  // KubeVirt's limits
  migrationsOff: (field: string, value: number) =>
    `KubeVirt starts no migration: spec.configuration.migrations.${field} of the KubeVirt CR is ${value}`,

  // Problems with fields. No message contains the value, because it can be a secret.
  expected: (what: string) => `expected ${what}`,
  unknownKey: "unknown key",
  seconds: (most: number) => `expected seconds, from 0 to ${most}`,
  wholeNumber: "expected a whole number",
  oneOrMore: "expected 1 or more",
  oneOf: (values: readonly string[]) => `expected one of ${values.join(", ")}`,
  username: "expected a username",
  atLeastOneUsername: "expected at least one username",
  trueOrFalse: "expected true or false",
  json: "expected JSON",
  text: "expected a text",
  oneLine: "expected a text without line breaks",
  server: "expected an https:// URL, http:// to loopback, or binding:NAME of a Workers VPC service",
  token: "expected a token",
  tokenWithoutSpaces: "expected a token, without spaces or line breaks",
  longToken: "expected a token of at least 16 characters, without spaces or line breaks",
  tokens: "expected a token, or a list of tokens",
  atLeastOne: "expected at least one entry",
  relaySecret: "expected whsec_ and the base64 of 24 to 64 bytes",
  headerName: "expected the name of a header",
  foreignHeader: "expected a header that Lifeboat does not set itself",
  registryKeys: "expected one or more keys of 32 bytes in base64, separated by commas",
  sealedEntry: "expected an encrypted entry, as `npm run cluster -- add` writes it",
  entryOfName: "expected an entry that was encrypted for the cluster of this name, with a key of REGISTRY_KEY",
} as const;

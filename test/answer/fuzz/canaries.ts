/** Lists secrets that must not occur in an answer or a log line. The tests put these secrets in many places. */
export const SECRETS = {
  token: "canary-of-the-service-account",
  webhookToken: "canary-of-the-webhook",
  operatorToken: "canary-of-the-operator",
  relaySecret: `whsec_${Buffer.from("canary of the relay, thirty-two b").toString("base64")}`,
  oldRelaySecret: `whsec_${Buffer.from("canary of the relay as it used to be").toString("base64")}`,
  header: "canary-of-the-access-header",
} as const;

const { token, webhookToken, operatorToken, relaySecret, oldRelaySecret, header } = SECRETS;

export const ENTRY = {
  token,
  webhookToken,
  operatorToken,
  relaySecret: [relaySecret, oldRelaySecret],
  headers: { "x-access": header },
};

/**
 * Occurs in every answer of the cluster, in places that Lifeboat does not read, such as managed fields and failure
 * messages.
 */
export const UPSTREAM = "canary-of-the-upstream";

const CANARIES: readonly string[] = [...Object.values(SECRETS).map((secret) => secret.replace("whsec_", "")), UPSTREAM];

/**
 * Returns the secret in a text. Ignores the secrets in `known`, the path of the request, because the caller itself sent
 * these secrets.
 */
export function canaryIn(text: string, known = ""): string | undefined {
  return text.includes("canary") || text.includes("Y2FuYXJ5")
    ? CANARIES.find((canary) => text.includes(canary) && !known.includes(canary))
    : undefined;
}

export function isStackTrace(text: string): boolean {
  return /\n\s+at |node_modules|\.ts:\d+:\d+/.test(text.replaceAll("\\n", "\n"));
}

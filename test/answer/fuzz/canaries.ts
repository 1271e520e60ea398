/** Secrets planted wherever there are some, to be found again where they must not be: in an answer or in a log line. */
export const SECRETS = {
  token: "canary-of-the-service-account",
  webhookToken: "canary-of-the-webhook",
  operatorToken: "canary-of-the-operator",
  relaySecret: `whsec_${Buffer.from("canary of the relay, thirty-two b").toString("base64")}`,
  oldRelaySecret: `whsec_${Buffer.from("canary of the relay as it used to be").toString("base64")}`,
  header: "canary-of-the-access-header",
} as const;

const { token, webhookToken, operatorToken, relaySecret, oldRelaySecret, header } = SECRETS;

/** A cluster's entry without its address. */
export const ENTRY = {
  token,
  webhookToken,
  operatorToken,
  relaySecret: [relaySecret, oldRelaySecret],
  headers: { "x-access": header },
};

/** In every answer of the other side, where Lifeboat does not read it: in managed fields, in messages of failures, in HTML. */
export const UPSTREAM = "canary-of-the-upstream";

const CANARIES: readonly string[] = [...Object.values(SECRETS).map((secret) => secret.replace("whsec_", "")), UPSTREAM];

/** The secret found in a text. */
export function canaryIn(text: string): string | undefined {
  return text.includes("canary") || text.includes("Y2FuYXJ5")
    ? CANARIES.find((canary) => text.includes(canary))
    : undefined;
}

/** A place in the code: of no use to a caller, except to a curious one. */
export function isStackTrace(text: string): boolean {
  return /\n\s+at |node_modules|\.ts:\d+:\d+/.test(text.replaceAll("\\n", "\n"));
}

/**
 * Reads the server's Secret: its certificate and the tokens of its endpoints. `lifeboat install` or a person writes the
 * Secret.
 */
import { kind, Meta, TextsOrNone } from "../../shared/kube/schemas/fields.ts";
import { EndpointToken } from "../../shared/settings/clusters.ts";
import { isPair } from "./certificate.ts";
import type { Pair } from "./listener.ts";
import { HOST, NAME, NAMESPACE } from "./names.ts";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

export const SECRET = { namespace: NAMESPACE, name: NAME } as const;

export type Key = "tls.crt" | "tls.key" | "webhookToken" | "operatorToken";

export interface ServerSecret {
  readonly resourceVersion: string;
  readonly isCertManagers: boolean;
  readonly data: { readonly [K in Key]?: string };
}

export const ServerSecret = kind(
  () => ({ metadata: Meta, data: TextsOrNone }),
  ({ metadata: { resourceVersion, annotations }, data }): ServerSecret => ({
    resourceVersion,
    isCertManagers: Object.keys(annotations ?? {}).some((key) => key.startsWith("cert-manager.io/")),
    data: Object.fromEntries(
      Object.entries(data)
        .map(([key, value]) => [key, Buffer.from(value, "base64").toString()] as const)
        .filter(([, text]) => text !== ""),
    ),
  }),
);

export interface Identity {
  readonly pair: Pair;
  /** The tokens that the webhooks' endpoints accept. The API server sends the first token. */
  readonly webhookToken: Tokens;
  readonly operatorToken: Tokens;
}

export type Tokens = readonly [string, ...string[]];

/**
 * Returns the usable parts of the Secret. A certificate is usable if it contains the server's host name and matches the
 * key.
 */
export function partsOf({ data }: ServerSecret): Partial<Identity> {
  const { "tls.crt": certPem = "", "tls.key": keyPem = "" } = data;
  const [webhookToken, operatorToken] = [tokensIn(data.webhookToken), tokensIn(data.operatorToken)];
  return {
    ...(isPair(certPem, keyPem) && { pair: { certPem, keyPem } }),
    ...(webhookToken !== undefined && { webhookToken }),
    ...(operatorToken !== undefined && { operatorToken }),
  };
}

/** Reads one token, or several tokens that are separated by commas. Returns undefined if a token is too short. */
export function tokensIn(text = ""): Tokens | undefined {
  const tokens = text.split(",").flatMap((token) => token.trim() || []);
  const [first, ...others] = tokens.every((token) => EndpointToken.safeParse(token).success) ? tokens : [];
  return first === undefined ? undefined : [first, ...others];
}

export function lackOf(parts: Partial<Identity>): readonly string[] {
  return [
    ...(parts.pair === undefined ? [MESSAGES.certificateFor(HOST)] : []),
    ...(parts.webhookToken === undefined ? [MESSAGES.longToken("webhookToken")] : []),
    ...(parts.operatorToken === undefined ? [MESSAGES.longToken("operatorToken")] : []),
  ];
}

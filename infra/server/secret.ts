/**
 * The server's Secret: its certificate and the tokens of its endpoints. `lifeboat install` or a person writes the
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
  /** Whether cert-manager writes the certificate. */
  readonly isCertManagers: boolean;
  /** The texts of the Secret that are not empty. */
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
  /** The tokens that the endpoints of the webhooks accept. The webhooks send the first token. */
  readonly webhookToken: Tokens;
  readonly operatorToken: Tokens;
}

export type Tokens = readonly [string, ...string[]];

/** Returns the usable parts of the Secret. A certificate for another name, or with another key, is not usable. */
export function partsOf({ data }: ServerSecret): Partial<Identity> {
  const { "tls.crt": certPem = "", "tls.key": keyPem = "" } = data;
  const [webhookToken, operatorToken] = [tokensIn(data.webhookToken), tokensIn(data.operatorToken)];
  return {
    ...(isPair(certPem, keyPem) && { pair: { certPem, keyPem } }),
    ...(webhookToken !== undefined && { webhookToken }),
    ...(operatorToken !== undefined && { operatorToken }),
  };
}

/**
 * Reads one token, or the tokens of a rotation, with commas between the tokens. A token that is too short is not
 * usable.
 */
export function tokensIn(text = ""): Tokens | undefined {
  const tokens = text.split(",").flatMap((token) => token.trim() || []);
  const [first, ...others] = tokens.every((token) => EndpointToken.safeParse(token).success) ? tokens : [];
  return first === undefined ? undefined : [first, ...others];
}

/** Lists the parts that a Secret lacks. */
export function lackOf(parts: Partial<Identity>): readonly string[] {
  return [
    ...(parts.pair === undefined ? [MESSAGES.certificateFor(HOST)] : []),
    ...(parts.webhookToken === undefined ? [MESSAGES.longToken("webhookToken")] : []),
    ...(parts.operatorToken === undefined ? [MESSAGES.longToken("operatorToken")] : []),
  ];
}

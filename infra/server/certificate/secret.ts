/**
 * The server's Secret: its certificates, and the tokens of its doors. Its manifest has no data, so the server needs no permission to create
 * Secrets.
 */
import { kind, Meta, TextsOrNone } from "../../../shared/cluster/kinds/fields.ts";
import { parseAnswer } from "../../../shared/cluster/read.ts";
import type { Send } from "../../../shared/cluster/transport.ts";
import { type ActResult, patch } from "../../../shared/cluster/write.ts";
import { NAME, NAMESPACE } from "../names.ts";

const PATH = `/api/v1/namespaces/${NAMESPACE}/secrets/${NAME}`;

export type Key = "tls.crt" | "tls.key" | "next.crt" | "next.key" | "previous.crt" | "webhookToken" | "operatorToken";

export interface ServerSecret {
  readonly resourceVersion: string;
  /** cert-manager writes the certificate: then none of it is Lifeboat's to write. */
  readonly isCertManagers: boolean;
  /** Texts that are not empty. */
  readonly data: { readonly [K in Key]?: string };
}

/** null removes a key; an absent one stays. */
export type Change = { readonly [K in Key]?: string | null };

const Secret = kind(
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

export async function readSecret(send: Send): Promise<ServerSecret> {
  const { body } = await send({ method: "GET", path: PATH });
  return parseAnswer(Secret, body, `GET ${PATH}`);
}

/** Conflict: another replica was first. A Secret that may not be changed (immutable, or by a policy) is a failure. */
export async function changeSecret(send: Send, { resourceVersion }: ServerSecret, change: Change): Promise<ActResult> {
  const encoded = Object.entries(change).map(
    ([key, text]) => [key, text === null ? null : Buffer.from(text).toString("base64")] as const,
  );
  const body = { metadata: { resourceVersion }, data: Object.fromEntries(encoded) };
  return await patch(send, PATH, body, { 409: "Conflict" });
}

/**
 * The server's Secret: its certificates, and the tokens of its doors. Its manifest has no data, so the server needs no permission to create
 * Secrets.
 */
import { type Client, meaningOf } from "../../../shared/kube/client.ts";
import { kind, Meta, TextsOrNone } from "../../../shared/kube/schemas/fields.ts";
import { NAME, NAMESPACE } from "../names.ts";

const KEY = { namespace: NAMESPACE, name: NAME };

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

export async function readSecret(cluster: Client): Promise<ServerSecret> {
  const found = await cluster.get("secrets", KEY, { as: Secret });
  if (found === undefined) throw new Error(`there is no Secret ${NAME} in namespace ${NAMESPACE}`);
  return found;
}

/** Where another replica was first, the next look finds what it wrote. A Secret that may not be changed (immutable, or by a policy) is a failure. */
export async function changeSecret({ resourceVersion }: ServerSecret, change: Change, cluster: Client): Promise<void> {
  const encoded = Object.entries(change).map(
    ([key, text]) => [key, text === null ? null : Buffer.from(text).toString("base64")] as const,
  );
  const body = { metadata: { resourceVersion }, data: Object.fromEntries(encoded) };
  meaningOf(await cluster.patch("secrets", KEY, body), { 409: "Conflict" });
}

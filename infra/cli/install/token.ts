/**
 * Manages the Secrets with tokens of Lifeboat's account, for a Worker. Each Secret gets a new name, because a Secret
 * with the name of a deleted Secret would get the revoked token again.
 */
import * as z from "zod/mini";
import { parseAnswer } from "../../../shared/kube/read.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { LIFEBOAT_NAMESPACE } from "../../../shared/kube/names.ts";
import type { Host } from "../host.ts";
import { documentsIn } from "./manifests.ts";
import { until } from "./apply.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

const ACCOUNT = "lifeboat";
const OF_ACCOUNT = "kubernetes.io/service-account.name";
const LAST_USED = "kubernetes.io/legacy-token-last-used";
const SECRETS = `/api/v1/namespaces/${LIFEBOAT_NAMESPACE}/secrets`;

const Texts = z._default(z.record(z.string(), z.string()), {});
const Secret = z.object({
  metadata: z.object({ name: z.string(), creationTimestamp: z.string(), labels: Texts, annotations: Texts }),
  data: Texts,
});
const Secrets = z.object({ items: z.array(Secret) });

export type TokenSecret = ReturnType<typeof tokenSecretOf>;

export async function listTokens(send: Send): Promise<readonly TokenSecret[]> {
  const query = { fieldSelector: "type=kubernetes.io/service-account-token" };
  const { body } = await send({ method: "GET", path: SECRETS, query });
  const { items } = parseAnswer(Secrets, body, `GET ${SECRETS}`);
  return items.filter(({ metadata }) => metadata.annotations[OF_ACCOUNT] === ACCOUNT).map(tokenSecretOf);
}

function tokenSecretOf({ metadata, data: { token } }: z.output<typeof Secret>) {
  const { name, creationTimestamp: createdAt, labels } = metadata;
  const text = token === undefined ? undefined : Buffer.from(token, "base64").toString();
  return { name, createdAt, token: text, isUsed: labels[LAST_USED] !== undefined };
}

/** Creates a Secret, and waits until the token controller has written the token. */
export async function createToken(send: () => Send, host: Host): Promise<TokenSecret & { readonly token: string }> {
  const [body] = documentsIn("kubernetes/worker/token.yaml");
  const created = await send()({ method: "POST", path: SECRETS, body });
  const { name } = parseAnswer(Secret, created.body, `POST ${SECRETS}`).metadata;
  host.stdout.write(MESSAGES.changed(shown(name), "created"));
  return await until(MESSAGES.noToken(shown(name)), { host }, async () => {
    const found = await readToken(send(), name);
    return found?.token === undefined ? undefined : { ...found, token: found.token };
  });
}

export async function readToken(send: Send, name: string): Promise<TokenSecret | undefined> {
  const path = `${SECRETS}/${name}`;
  const { code, body } = await send({ method: "GET", path, expect: [404] });
  return code === 404 ? undefined : tokenSecretOf(parseAnswer(Secret, body, `GET ${path}`));
}

export async function deleteToken(send: Send, name: string, host: Host): Promise<void> {
  await send({ method: "DELETE", path: `${SECRETS}/${name}`, expect: [404] });
  host.stdout.write(MESSAGES.changed(shown(name), "deleted"));
}

function shown(name: string): string {
  return `secret/${name} -n ${LIFEBOAT_NAMESPACE}`;
}

const Review = z.object({ status: z.object({ authenticated: z._default(z.boolean(), false) }) });

/** Returns whether the API server accepts a token. Returns undefined if the caller may not create TokenReviews. */
export async function isAccepted(send: Send, token: string): Promise<boolean | undefined> {
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const { code, body } = await send({ method: "POST", path, body: review, expect: [403] });
  return code === 403 ? undefined : parseAnswer(Review, body, `POST ${path}`).status.authenticated;
}

/** The tokens in Secrets. A token is valid while its Secret contains it. */
import { createHmac, randomBytes } from "node:crypto";
import { type ServerState, timestamp } from "./context.ts";
import { recordAt, viewAs } from "./objects.ts";
import { type Collection, parse, parsedOnce, type StoredObject } from "./store.ts";

export interface SecretTokenOf {
  readonly namespace: string;
  readonly secret: string;
  readonly account: string;
  /** The UID of the service account. */
  readonly uid: string;
}

const HEADER = encode({ alg: "HS256" });
const CLAIM = "kubernetes.io/serviceaccount/";
const LAST_USED = "kubernetes.io/legacy-token-last-used";

/** Issues tokens. As in kube-controller-manager, a recreated Secret of the same account gets the same token again. */
export class SecretTokenIssuer {
  readonly #key = randomBytes(32);

  issue({ namespace, secret, account, uid }: SecretTokenOf): string {
    const claims = {
      iss: "kubernetes/serviceaccount",
      [`${CLAIM}namespace`]: namespace,
      [`${CLAIM}secret.name`]: secret,
      [`${CLAIM}service-account.name`]: account,
      [`${CLAIM}service-account.uid`]: uid,
      sub: `system:serviceaccount:${namespace}:${account}`,
    };
    return this.#signed(encode(claims));
  }

  #signed(claims: string): string {
    const payload = `${HEADER}.${claims}`;
    return `${payload}.${createHmac("sha256", this.#key).update(payload).digest("base64url")}`;
  }

  /** Returns the content of a token. Returns undefined if this server did not issue the token. */
  read(token: string): SecretTokenOf | undefined {
    const [, payload = ""] = token.split(".");
    if (this.#signed(payload) !== token) return undefined;
    const claims = viewAs<Record<string, string>>(JSON.parse(Buffer.from(payload, "base64url").toString()));
    const claim = (name: string) => claims[`${CLAIM}${name}`] ?? "";
    const [secret, account, uid] = [claim("secret.name"), claim("service-account.name"), claim("service-account.uid")];
    return { namespace: claim("namespace"), secret, account, uid };
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/**
 * Returns the account of a token. Labels the Secret with the current day, as the API server does. Returns undefined if
 * the token is forged, or if its Secret or account does not exist.
 */
export function accountOfSecretToken(state: ServerState, token: string): SecretTokenOf | undefined {
  const found = state.secretTokens.read(token);
  if (found === undefined) return undefined;
  const { namespace, secret, account, uid } = found;
  const secrets = state.store.collection("secrets");
  const stored = secrets.get({ namespace, name: secret });
  const owner = state.store.collection("serviceaccounts").get({ namespace, name: account });
  if (stored === undefined || owner === undefined || parsedOnce(owner).metadata.uid !== uid) return undefined;
  const { token: held } = recordAt(parsedOnce(stored), "data");
  if (held !== Buffer.from(token).toString("base64")) return undefined;
  markUsed(secrets, stored, state.now());
  return found;
}

function markUsed(secrets: Collection, stored: StoredObject, now: Date): void {
  const [day = ""] = timestamp(now).split("T");
  if (stored.labels[LAST_USED] === day) return;
  const object = parse(stored);
  object.metadata.labels = { ...object.metadata.labels, [LAST_USED]: day };
  secrets.replace(stored, object);
}

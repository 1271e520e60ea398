/** Service account tokens. They are signed by this server, bound to the account's UID, and expire. */
import { generateKeyPairSync, randomUUID, sign, verify } from "node:crypto";
import { requireActiveNamespace } from "./admission/namespace-lifecycle.ts";
import { type Answer, type ResourceContext, type ServerState, type User, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { invalidIf } from "./field-errors.ts";
import { defineKind } from "./kinds/kind.ts";
import { type KubeObject, type NamespacedName, isRecord, recordAt, stringAt, stringsAt, viewAs } from "./objects.ts";
import { checkSubresource } from "./schema/subresource.ts";
import { accountOfSecretToken } from "./secret-tokens.ts";
import { parsedOnce } from "./store.ts";
import { type FieldError, badRequest, fail } from "./status.ts";

export const ISSUER = "https://kubernetes.default.svc.cluster.local";
const HEADER = encode({ alg: "ES256", kid: "sandbox" });
const ONE_HOUR_SECONDS = 3600;
const RECREATED = "The object might have been deleted and then recreated";

interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
  readonly jti: string;
  readonly sub: string;
  readonly "kubernetes.io": Bound & { readonly namespace: string; readonly serviceaccount: Reference };
}

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** The token is valid only while these objects exist. */
type Bound = { readonly [Kind in "pod" | "secret" | "node"]?: Reference };

export class TokenIssuer {
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  /** Caches the content of tokens with a valid signature. */
  readonly #read = new Map<string, Claims>();

  issue(claims: Claims): string {
    const payload = `${HEADER}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(payload), { key: this.#keys.privateKey, dsaEncoding: "ieee-p1363" });
    return `${payload}.${signature.toString("base64url")}`;
  }

  /** Returns the content of a token. Returns undefined if this server did not issue the token. */
  read(token: string): Claims | undefined {
    const known = this.#read.get(token);
    if (known !== undefined) return known;
    const [header, payload, signature] = token.split(".");
    if (header !== HEADER || payload === undefined || signature === undefined) return undefined;
    const key = { key: this.#keys.publicKey, dsaEncoding: "ieee-p1363" } as const;
    const valid = verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"));
    if (!valid) return undefined;
    const claims: Claims = viewAs(JSON.parse(Buffer.from(payload, "base64url").toString()));
    this.#read.set(token, claims);
    return claims;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

const TOKEN_REQUEST = defineKind({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  model: "AuthenticationV1TokenRequest",
});

export async function requestToken(ctx: ResourceContext): Promise<Answer> {
  const request = await checkSubresource(ctx, TOKEN_REQUEST, decodeBody(ctx));
  requireActiveNamespace(ctx, request);
  const { namespace, name } = ctx.info;
  const { name: given = name } = request.metadata;
  refuse(name, invalidIf(given !== name, "metadata.name", given, "must match the service account name if specified"));
  const serviceaccount = referenceTo(ctx, "ServiceAccount", name);
  const spec = recordAt(request, "spec");
  const [asked, seconds] = [stringsAt(spec, "audiences"), Number(spec.expirationSeconds ?? ONE_HOUR_SECONDS)];
  const [field, duration] = ["spec.expirationSeconds", "may not specify a duration"];
  refuse("", [
    ...invalidIf(seconds < 600, field, seconds, `${duration} less than 10 minutes`),
    ...invalidIf(seconds > 2 ** 32, field, seconds, `${duration} larger than 2^32 seconds`),
  ]);
  const audiences = asked.length === 0 ? [ISSUER] : asked;
  const now = Math.floor(ctx.state.now().getTime() / 1000);
  const token = ctx.state.tokenIssuer.issue({
    iss: ISSUER,
    aud: audiences,
    iat: now,
    nbf: now,
    exp: now + seconds,
    jti: randomUUID(),
    sub: usernameOf({ namespace, name }),
    "kubernetes.io": { namespace, serviceaccount, ...boundTo(ctx, spec.boundObjectRef) },
  });
  const object: KubeObject = {
    ...request,
    metadata: { name, namespace, creationTimestamp: timestamp(ctx.state.now()) },
    spec: { ...spec, audiences, expirationSeconds: seconds },
    status: { token, expirationTimestamp: timestamp(new Date((now + seconds) * 1000)) },
  };
  return { type: "Document", code: 201, body: object };
}

function refuse(name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) fail({ reason: "Invalid", kind: TOKEN_REQUEST, name, errors });
}

function boundTo(ctx: ResourceContext, wanted: unknown): Bound {
  if (!isRecord(wanted)) return {};
  const [kind = "", name = "", version = "", uid] = ["kind", "name", "apiVersion", "uid"].map((key) =>
    stringAt(wanted, key),
  );
  if (version !== "v1" || !["Pod", "Secret", "Node"].includes(kind))
    return badRequest(`cannot bind token to object of type ${version}, Kind=${kind}`);
  const found = referenceTo(ctx, kind, name);
  const message = `the UID in the bound object reference (${uid}) does not match the UID in record. ${RECREATED}`;
  if (uid && uid !== found.uid) fail({ reason: "Conflict", resource: { group: "", resource: kind }, name, message });
  return { [kind.toLowerCase()]: found };
}

function referenceTo({ state, info }: ResourceContext, kind: string, name: string): Reference {
  const resource = `${kind.toLowerCase()}s`;
  const stored = state.store.collection(resource).get({ namespace: kind === "Node" ? "" : info.namespace, name });
  if (stored === undefined) return fail({ reason: "NotFound", resource: { group: "", resource }, name });
  const object = parsedOnce(stored);
  const other = `cannot bind token for serviceaccount "${info.name}" to pod running with different serviceaccount name.`;
  if (kind === "Pod" && (stringAt(object, "spec.serviceAccountName") || "default") !== info.name) badRequest(other);
  return { name, uid: object.metadata.uid ?? "" };
}

export interface Authenticated {
  readonly user: User;
  readonly audiences: readonly string[];
}

/**
 * Returns the account of a token. Returns undefined if the token is forged or expired, or if its account or a bound
 * object does not exist.
 */
export function accountOfToken(state: ServerState, token: string): Authenticated | undefined {
  const claims = state.tokenIssuer.read(token);
  if (claims === undefined) return accountOfSecret(state, token);
  const { namespace, ...bound } = claims["kubernetes.io"];
  const seconds = state.now().getTime() / 1000;
  const fresh = claims.nbf <= seconds + 1 && seconds < claims.exp;
  const kept = Object.entries(bound).every(([kind, { name, uid }]) => {
    const stored = state.store.collection(`${kind}s`).get({ namespace: kind === "node" ? "" : namespace, name });
    return stored !== undefined && parsedOnce(stored).metadata.uid === uid;
  });
  if (!fresh || !kept) return undefined;
  const { serviceaccount, secret: _untold, ...rest } = bound;
  const extra: Record<string, readonly string[]> = { [`${EXTRA}credential-id`]: [`JTI=${claims.jti}`] };
  for (const [kind, { name, uid }] of Object.entries(rest))
    Object.assign(extra, { [`${EXTRA}${kind}-name`]: [name], [`${EXTRA}${kind}-uid`]: [uid] });
  const user = { username: claims.sub, uid: serviceaccount.uid, groups: groupsOf(namespace), extra };
  return { user, audiences: claims.aud };
}

function accountOfSecret(state: ServerState, token: string): Authenticated | undefined {
  const found = accountOfSecretToken(state, token);
  if (found === undefined) return undefined;
  const { namespace, account: name, uid } = found;
  return { user: { username: usernameOf({ namespace, name }), uid, groups: groupsOf(namespace) }, audiences: [ISSUER] };
}

const EXTRA = "authentication.kubernetes.io/";

function usernameOf({ namespace, name }: NamespacedName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function groupsOf(namespace: string): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

export function serviceAccountOf(username: string): NamespacedName | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username);
  return match === null ? undefined : { namespace: match[1] ?? "", name: match[2] ?? "" };
}

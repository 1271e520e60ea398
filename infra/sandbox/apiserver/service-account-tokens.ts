/**
 * ServiceAccount tokens: signed by this server, bound to the account's uid, valid until they expire.
 * Owns: TokenRequest, issuing and verifying. Does not own: who may ask for one (authorization.ts).
 */
import { type KeyObject, generateKeyPairSync, randomUUID, sign, verify } from "node:crypto";
import { type Answer, type ResourceContext, type ServerState, type User, resourceOf, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { type KubeObject, type NamespacedName, fieldAt, recordAt, stringsAt, viewAs } from "./objects.ts";
import { parse } from "./store.ts";
import { fail } from "./status.ts";

const ISSUER = "https://kubernetes.default.svc.cluster.local";
const HEADER = encode({ alg: "ES256", kid: "sandbox" });
const ONE_HOUR_SECONDS = 3600;

interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
  readonly jti: string;
  readonly sub: string;
  readonly "kubernetes.io": { readonly namespace: string; readonly serviceaccount: { name: string; uid: string } };
}

export class TokenIssuer {
  readonly #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  /** Tokens whose signature was found to be ours: it stays so, whatever becomes of the account. */
  readonly #read = new Map<string, Claims>();

  constructor() {
    this.#keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  }

  issue(claims: Claims): string {
    const payload = `${HEADER}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(payload), { key: this.#keys.privateKey, dsaEncoding: "ieee-p1363" });
    return `${payload}.${signature.toString("base64url")}`;
  }

  /** undefined: not one of ours. */
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

/** POST serviceaccounts/{name}/token. */
export function requestToken(ctx: ResourceContext): Answer {
  const account = ctx.collection.get(ctx.info);
  if (account === undefined) fail({ reason: "NotFound", resource: resourceOf(ctx.kind), name: ctx.info.name });
  const spec = recordAt(decodeBody(ctx), "spec");
  const seconds = Number(spec.expirationSeconds ?? ONE_HOUR_SECONDS);
  const asked = stringsAt(spec, "audiences");
  const audiences = asked.length === 0 ? [ISSUER] : asked;
  const now = Math.floor(ctx.state.now().getTime() / 1000);
  const { namespace, name } = ctx.info;
  const token = ctx.state.tokenIssuer.issue({
    iss: ISSUER,
    aud: audiences,
    iat: now,
    nbf: now,
    exp: now + seconds,
    jti: randomUUID(),
    sub: usernameOf({ namespace, name }),
    "kubernetes.io": { namespace, serviceaccount: { name, uid: parse(account).metadata.uid ?? "" } },
  });
  const object: KubeObject = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name, namespace, creationTimestamp: timestamp(ctx.state.now()) },
    spec: { ...spec, audiences, expirationSeconds: seconds },
    status: { token, expirationTimestamp: timestamp(new Date((now + seconds) * 1000)) },
  };
  return { type: "Document", code: 201, body: object };
}

/** undefined: forged, expired, for another audience, or of an account that is gone. */
export function userOfToken(state: ServerState, token: string): User | undefined {
  const claims = state.tokenIssuer.read(token);
  if (claims === undefined) return undefined;
  const { namespace, serviceaccount } = claims["kubernetes.io"];
  const account = state.store.collection("serviceaccounts").get({ namespace, name: serviceaccount.name });
  const seconds = state.now().getTime() / 1000;
  const fresh = claims.nbf <= seconds + 1 && seconds < claims.exp && claims.aud.includes(ISSUER);
  const same = account !== undefined && fieldAt(parse(account), "metadata.uid") === serviceaccount.uid;
  if (!fresh || !same) return undefined;
  const extra = { "authentication.kubernetes.io/credential-id": [`JTI=${claims.jti}`] };
  return { username: claims.sub, uid: serviceaccount.uid, groups: groupsOf(namespace), extra };
}

export function usernameOf({ namespace, name }: NamespacedName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function groupsOf(namespace: string): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

export function serviceAccountOf(username: string): NamespacedName | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username);
  return match === null ? undefined : { namespace: match[1] ?? "", name: match[2] ?? "" };
}

/**
 * How a visitor proves who they are to one cluster: with its operator token, a sign-in code, or a token of Kubernetes.
 * Owns: what each of them opens, and for how long. Does not own: the form (sign-in.ts), the cookie (session.ts).
 */
import type { Cluster } from "../../shared/cluster/cluster.ts";
import type { Right } from "../../shared/cluster/identity-reviews.ts";
import { expiryOf } from "../../shared/config/token-expiry.ts";
import { RejectionError } from "../rejection.ts";
import { authenticate, type Target } from "../target.ts";
import type { Grant } from "./session.ts";
import { parseCode, type UsedCodes } from "./sign-in-code.ts";

const OPERATOR_SECONDS = 4 * 3600;
/** The API server is not asked again meanwhile: what a user may do no longer, they may do here for so long. */
const REVIEWED_SECONDS = 3600;
const REVIEW_SECONDS = 5;

const of = (group: string, resource: string) => (verb: string) => ({ verb, group, resource });
const evacuations = of("lifeboat.dev", "evacuations");
/** The pages show objects of these kinds, of every namespace. */
const LOOK: readonly Right[] = [
  evacuations("list"),
  of("", "nodes")("list"),
  of("", "pods")("list"),
  of("kubevirt.io", "virtualmachineinstances")("list"),
];
const ACT: readonly Right[] = [evacuations("create"), evacuations("patch")];

export type Proof = { readonly result: "Proven"; readonly grant: Grant } | Unproven;
export type Unproven =
  | { readonly result: "Unknown" }
  /** A user of the cluster, who may not see there what the pages show. */
  | { readonly result: "MayNotLook"; readonly name: string };

/** Throws a ClusterError where the API server is to say whose token it is, and does not. */
export async function prove(presented: string, target: Target, used: UsedCodes): Promise<Proof> {
  const { entry, platform, name: cluster } = target;
  const now = platform.now();
  const seconds = Math.floor(now.getTime() / 1000);
  const operator = { cluster, name: "operator", mayAct: true, until: seconds + OPERATOR_SECONDS };
  const code = parseCode(presented);
  if (code !== undefined) {
    const counts = code.cluster === cluster && (await used.take(code, entry, now));
    return counts ? { result: "Proven", grant: operator } : { result: "Unknown" };
  }
  if (await isOperator(presented, target)) return { result: "Proven", grant: operator };
  if (!isJwt(presented)) return { result: "Unknown" };
  const reviewed = await review(presented, target.connect(REVIEW_SECONDS));
  if (reviewed.result !== "MayLook") return reviewed;
  const end = Math.floor((expiryOf(presented)?.getTime() ?? Number.POSITIVE_INFINITY) / 1000);
  const { name, mayAct } = reviewed;
  return {
    result: "Proven",
    grant: { cluster, name, mayAct, until: Math.min(seconds + REVIEWED_SECONDS, end) },
  };
}

async function isOperator(presented: string, { entry }: Target): Promise<boolean> {
  try {
    await authenticate(entry, "operator", presented);
    return true;
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    return false;
  }
}

/** Tokens of ServiceAccounts and of OIDC are. What is none costs the API server no request. */
function isJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
}

type Review = Unproven | { readonly result: "MayLook"; readonly name: string; readonly mayAct: boolean };

/** The API server is the judge of who may what. */
async function review(token: string, cluster: Cluster): Promise<Review> {
  const user = await cluster.userOf(token);
  if (user === undefined) return { result: "Unknown" };
  const mayAll = async (rights: readonly Right[]) =>
    (await Promise.all(rights.map((right) => cluster.isAllowed(user, right)))).every(Boolean);
  const [mayLook, mayAct] = await Promise.all([mayAll(LOOK), mayAll(ACT)]);
  return mayLook ? { result: "MayLook", name: user.username, mayAct } : { result: "MayNotLook", name: user.username };
}

/** How a visitor proves who they are to one cluster: with a token that was made for this page, which the cluster's API server reviews. */
import type { Cluster } from "../../shared/cluster/cluster.ts";
import type { Right } from "../../shared/cluster/identity-reviews.ts";
import { expiryOf, isOnlyFor } from "../../shared/config/token-expiry.ts";
import type { Target } from "../target.ts";
import type { Grant } from "./session.ts";

/** Of tokens for the page. A token for an API server opens that, too: it has no business here, and is never sent on. */
const AUDIENCE = "lifeboat";
/** The API server is not asked again meanwhile: what a user may do no longer, they may do here for so long. */
export const SESSION_SECONDS = 3600;
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

export function isForPage(token: string): boolean {
  return isOnlyFor(AUDIENCE, token);
}

/** Of a token that is for the page. Throws a ClusterError where the API server is to say whose it is, and does not. */
export async function prove(token: string, target: Target): Promise<Proof> {
  const { name: cluster, platform } = target;
  const reviewed = await review(token, target.connect(REVIEW_SECONDS));
  if (reviewed.result !== "MayLook") return reviewed;
  const { name, mayAct } = reviewed;
  const now = Math.floor(platform.now().getTime() / 1000);
  const end = Math.floor((expiryOf(token)?.getTime() ?? Number.POSITIVE_INFINITY) / 1000);
  return { result: "Proven", grant: { cluster, name, mayAct, until: Math.min(now + SESSION_SECONDS, end) } };
}

type Review = Unproven | { readonly result: "MayLook"; readonly name: string; readonly mayAct: boolean };

/** The API server is the judge of who may what. */
async function review(token: string, cluster: Cluster): Promise<Review> {
  const user = await cluster.userOf(token, AUDIENCE);
  if (user === undefined) return { result: "Unknown" };
  const mayAll = async (rights: readonly Right[]) =>
    (await Promise.all(rights.map((right) => cluster.isAllowed(user, right)))).every(Boolean);
  const [mayLook, mayAct] = await Promise.all([mayAll(LOOK), mayAll(ACT)]);
  return mayLook ? { result: "MayLook", name: user.username, mayAct } : { result: "MayNotLook", name: user.username };
}

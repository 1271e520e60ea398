/** Writing: one request, and what each answer to it means. */
import type { Action } from "../policy/action.ts";
import type { NamespacedName } from "../policy/facts.ts";
import { object, type Resource } from "./paths.ts";
import type { ApiRequest, Send } from "./transport.ts";

/**
 * `Done`, also when another function has done the same before; `Conflict`: the world is not what was observed, look again;
 * `Refused`: an admission webhook says no, and will say so again. Anything else throws a ClusterError.
 */
export type ActResult = "Done" | "Conflict" | "Refused";

export type ActionOf<Verb> = Extract<Action, { verb: Verb }>;

/** Codes that are answers besides 2xx, which is `Done`; all others throw. */
type Meanings = Readonly<Record<number, ActResult>>;

/** 404: the object is gone; 409: stale; 422: a test in the patch failed. */
export const CHANGED: Meanings = { 404: "Conflict", 409: "Conflict", 422: "Conflict" };

export async function write(send: Send, request: ApiRequest, meanings: Meanings): Promise<ActResult> {
  const { code } = await send({ ...request, expect: Object.keys(meanings).map(Number) });
  return meanings[code] ?? "Done";
}

/** A deterministic name that is taken was taken by the same action. */
export async function create(
  send: Send,
  path: string,
  body: unknown,
  meanings: Meanings = { 404: "Conflict", 409: "Done" },
): Promise<ActResult> {
  return await write(send, { method: "POST", path, body }, meanings);
}

export async function patch(send: Send, path: string, body: unknown, meanings = CHANGED): Promise<ActResult> {
  return await write(send, { method: "PATCH", path, body }, meanings);
}

type Observed = NamespacedName & { readonly uid: string; readonly resourceVersion?: string };

/** `asSeen`: only if nothing of it has changed. */
export async function remove(
  send: Send,
  resource: Resource,
  { namespace, name, uid, resourceVersion }: Observed,
  asSeen = false,
): Promise<ActResult> {
  const path = object(resource, { namespace, name });
  const preconditions = { uid, ...(asSeen && { resourceVersion }) };
  return await write(send, { method: "DELETE", path, body: { preconditions } }, { 404: "Done", 409: "Conflict" });
}

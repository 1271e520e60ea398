/**
 * The operator's question before a drain: what happens to each pod of this node, and does the drain end?
 * Owns: the route's answer in JSON. Does not own: decisions (shared/policy/preflight), authentication (app.ts).
 */
import type { Context } from "hono";
import { isObjectKey } from "../shared/cluster/paths.ts";
import { observePreflight } from "../shared/pass/observe-preflight.ts";
import { preflight } from "../shared/policy/preflight/preflight.ts";
import { queryFlag } from "./query-flag.ts";
import { RejectionError } from "./rejection.ts";
import type { Target } from "./target.ts";

/** Twenty pages of pods, at a second each. */
const READ_SECONDS = 25;

/** Changes nothing. `force` and `deleteEmptyDirData` as with kubectl drain. */
export async function explainNode(c: Context, target: Target): Promise<Response> {
  const name = c.req.param("node") ?? "";
  // It becomes part of a selector.
  if (!isObjectKey({ namespace: "", name })) throw new RejectionError("NodeNotFound");
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const flags = { force: queryFlag(c, "force"), deleteEmptyDirData: queryFlag(c, "deleteEmptyDirData") };
  const observer = { cluster, settings, now: target.platform.now() };
  const facts = await observePreflight(name, flags, observer);
  if (facts === undefined) throw new RejectionError("NodeNotFound");
  return c.json(preflight(facts));
}

/**
 * The operator's door: why is this pod treated so, what is being evacuated, stop that.
 * Owns: the routes' answers in JSON. Does not own: decisions, authentication (app.ts).
 */
import type { Context } from "hono";
import type { NamespacedName } from "../shared/policy/facts.ts";
import { cancelEvacuations } from "../shared/pass/cancel.ts";
import { reviewEviction } from "../shared/pass/eviction.ts";
import { explanationOf } from "../shared/pass/explanation.ts";
import { reconcileVmi } from "../shared/pass/pass.ts";
import { reconciling } from "./reconciling.ts";
import { RejectionError } from "./rejection.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

/** The decision that an eviction of this pod would get now. Changes nothing. */
export async function explainPod(c: Context, target: Target, key: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const settings = async () => (await target.settings(cluster)).settings;
  const request = { username: "explain", cause: "ApiEviction" } as const;
  const pod = cluster.getPod(key);
  const review = await reviewEviction({ key, pod, request }, { cluster, settings, now: target.platform.now() });
  const explanation = explanationOf(review);
  if (explanation === undefined) throw new RejectionError("PodNotFound");
  return c.json(explanation);
}

/** Evacuations that have not ended. */
export async function listEvacuations(c: Context, target: Target): Promise<Response> {
  const evacuations = await target.connect(READ_SECONDS).listEvacuations("Active");
  return c.json({
    evacuations: evacuations.map(({ namespace, name, spec, status }) => ({ namespace, name, spec, status })),
  });
}

/** Withdraws every evacuation of the VMI, and follows that at once. */
export async function cancelOne(c: Context, target: Target, key: NamespacedName): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const cancelling = await cancelEvacuations(key, { cluster, settings, now: target.platform.now() });
  switch (cancelling.result) {
    case "NotEvacuating":
      throw new RejectionError("NotEvacuating");
    case "DrainTaint": {
      const message = `node "${cancelling.node}" carries the drain taint ${settings.drainTaintKey}: remove that first`;
      throw new RejectionError("DrainTaint", { message });
    }
    case "Withdrawn":
      await reconciling(target, READ_SECONDS, (deps) => reconcileVmi(key, deps));
      return c.json({ cancelled: key, evacuations: cancelling.evacuations.map(({ name }) => name) });
  }
}

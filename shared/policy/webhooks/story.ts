/**
 * Events about the webhook objects: that the API server no longer asks, and that it does again.
 * Owns: when, and what they say. Does not own: what is wrong (compare.ts), the condition (configuration-status.ts).
 *
 * An Event is told once for each state of the object, however many functions scan. It may be gone by then: Events are about
 * objects of the past, too.
 */
import { type Action, STORY, type StoryReason } from "../action.ts";
import type { ConfigurationObserved } from "../configuration-status.ts";
import type { Comparison } from "./compare.ts";
import type { Installation } from "./facts.ts";

export interface Compared {
  readonly installed: Installation;
  readonly comparison: Comparison;
}

/** `conditions`: as they were. Without a LifeboatConfiguration nothing tells that something has been wrong. */
export function tellOfWebhooks(
  webhooks: readonly Compared[],
  conditions: ConfigurationObserved["conditions"],
): readonly Action[] {
  const wrong = webhooks.filter(({ comparison }) => comparison.problems.length > 0);
  const wasWrong = conditions.some((one) => one.type === "WebhookCalled" && one.status === "False");
  if (wrong.length > 0) return wrong.map((one) => event(one, "WebhookNotCalled", one.comparison.problems.join("; ")));
  const message = "The webhooks are as Lifeboat expects them again";
  const isSeen = webhooks.every(({ installed }) => installed !== "Unread");
  return wasWrong && isSeen ? webhooks.slice(0, 1).map((one) => event(one, "WebhookFixed", message)) : [];
}

function event({ installed, comparison }: Compared, reason: StoryReason, message: string): Action {
  const { uid, resourceVersion } = typeof installed === "object" ? installed : { uid: "", resourceVersion: "" };
  const about = { kind: "ValidatingWebhookConfiguration", namespace: "", name: comparison.object, uid } as const;
  return { verb: "Event", about, type: STORY[reason], reason, message, occasion: `${resourceVersion}/${message}` };
}

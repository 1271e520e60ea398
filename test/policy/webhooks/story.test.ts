/** Events about the webhook objects: when the API server no longer asks, and when it does again. */
import { expect, test } from "vitest";
import type { ConfigurationObserved } from "../../../shared/policy/configuration-status.ts";
import { type Compared, tellOfWebhooks } from "../../../shared/policy/webhooks/story.ts";

const one: Compared = {
  installed: { uid: "uid", resourceVersion: "7", webhooks: [] },
  comparison: { door: "evictions", object: "lifeboat", found: "Installed", problems: [], remarks: ["r"] },
};
const wrong: Compared = { ...one, comparison: { ...one.comparison, problems: ["a", "b"] } };
const gone: Compared = { installed: "Absent", comparison: { ...wrong.comparison, found: "Absent" } };
const unread: Compared = { installed: "Unread", comparison: { ...one.comparison, found: "Unread" } };
const guard: Compared = { ...wrong, comparison: { ...wrong.comparison, door: "deletions", object: "lifeboat-guard" } };

function was(status: string): ConfigurationObserved["conditions"] {
  return [{ type: "WebhookCalled", status, reason: "r", message: "m", lastTransitionTime: "", observedGeneration: 1 }];
}

// prettier-ignore
test.each<[string, readonly Compared[], ConfigurationObserved["conditions"], readonly string[]]>([
  ["in order",                              [one],          [],            []],
  ["in order, as before",                   [one],          was("True"),   []],
  ["in order again",                        [one],          was("False"),  ["Normal WebhookFixed lifeboat: The webhooks are as Lifeboat expects them again"]],
  ["it cannot be read any more",            [unread],       was("False"),  []],
  ["wrong",                                 [wrong],        was("True"),   ["Warning WebhookNotCalled lifeboat: a; b"]],
  ["wrong, without a LifeboatConfiguration", [wrong],       [],            ["Warning WebhookNotCalled lifeboat: a; b"]],
  ["gone",                                  [gone],         [],            ["Warning WebhookNotCalled lifeboat: a; b"]],
  ["the guard",                             [one, guard],   was("False"),  ["Warning WebhookNotCalled lifeboat-guard: a; b"]],
])("%s", (_, webhooks, conditions, told) => {
  const events = tellOfWebhooks(webhooks, conditions).flatMap((action) => (action.verb === "Event" ? [action] : []));
  expect(events.map(({ type, reason, about, message }) => `${type} ${reason} ${about.name}: ${message}`)).toEqual(told);
});

test("once for each state of the object", () => {
  const occasions = [wrong, wrong, { ...wrong, installed: { uid: "uid", resourceVersion: "8", webhooks: [] } }, gone]
    .flatMap((each) => tellOfWebhooks([each], []))
    .map((action) => (action.verb === "Event" ? action.occasion : undefined));
  expect(new Set(occasions).size).toBe(3);
});

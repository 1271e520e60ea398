/** Rows about webhooks: configure, ask, compare. */
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import type { Request } from "./client.ts";
import { type Answer, type Scenario, compare } from "./contract.ts";
import { configMap, del, post } from "./requests.ts";
import { Hook, type Respond, SERVING, allow, configuration } from "./webhook.ts";

/** A real server reads configurations from a lagging cache: it calls the marker's webhook once it has caught up. */
export async function seen(hook: Hook, { target, namespace }: Scenario): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  await vi.waitFor(async () => {
    await target().send({ method: "POST", path, body: configMap("marker") });
    expect(hook.marked).toBe(true);
  });
}

export interface Row {
  readonly respond?: Respond;
  readonly webhook?: object;
  readonly request: Request;
  readonly answer: Answer;
  readonly warnings?: readonly string[];
  /** The header Retry-After; missing: there is none. */
  readonly retryAfter?: string;
  readonly called?: boolean;
}

/** One row: configure the webhook, ask, compare. A real server needs a moment to see a new configuration. */
export function asksWebhook(hook: Hook, scenario: Scenario, title: string, row: Row): void {
  scenario.checks(title, async (send) => {
    const plural = `${SERVING}/validatingwebhookconfigurations`;
    await send(del(`${plural}/${scenario.namespace}`));
    const body = configuration(hook, { kind: "Validating", namespace: scenario.namespace, ...row.webhook });
    expect((await send(post(plural, body))).code).toBe(201);
    await seen(hook, scenario);
    hook.respond = row.respond ?? allow;
    hook.calls.length = 0;
    const response = await send(row.request);
    compare(response, row.answer);
    // Node joins repeated headers.
    expect(response.headers.warning).toBe(row.warnings?.map((text) => `299 - "${text}"`).join(", "));
    expect(response.headers["retry-after"]).toBe(row.retryAfter);
    expect(hook.calls.length > 0).toBe(row.called ?? true);
  });
}

export const evict = post("pods/p/eviction?dryRun=All", {
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "p" },
});

/** The webhook of a test file. */
export function useHook(): Hook {
  const hook = new Hook();
  beforeAll(() => hook.start());
  afterAll(() => hook.stop());
  beforeEach(() => {
    hook.calls.length = 0;
  });
  return hook;
}

/**
 * A webhook under the test's control, and configurations that name it.
 * Owns: its server, what it was asked, when a configuration is in force, the form of a row. Does not own: the rows.
 */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import { type Authority, createAuthority } from "../../infra/sandbox/certificates.ts";
import type { Request } from "./client.ts";
import { type Answer, type Scenario, compare } from "./contract.ts";
import { configMap, del, post } from "./requests.ts";

export interface Call {
  readonly url: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export type Respond = (uid: string) => unknown;

export const NAME = "hook.contract.example.com";
export const SERVING = "/apis/admissionregistration.k8s.io/v1";

export const allow: Respond = (uid) => ({ uid, allowed: true });

/** A webhook whose answer each row sets; what it was asked is kept. */
export class Hook {
  readonly calls: Call[] = [];
  respond: Respond = allow;
  authority: Authority | undefined;
  url = "";
  #stop: () => void = () => {};

  async start(): Promise<void> {
    this.authority = await createAuthority("hook");
    const { certPem, keyPem } = await this.authority.issue(["127.0.0.1"]);
    const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const review: { request: Record<string, unknown> } = JSON.parse(Buffer.concat(chunks).toString());
        this.calls.push({ url: incoming.url ?? "", request: review.request });
        const respond = incoming.url?.startsWith("/marker/") ? allow : this.respond;
        const response = respond(String(review.request.uid));
        if (response === NEVER) return;
        if (response === BROKEN) return void outgoing.destroy();
        const envelope = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
        outgoing.end(typeof response === "string" ? response : JSON.stringify(envelope));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address: AddressInfo | string | null = server.address();
    if (address === null || typeof address === "string") throw new Error("the hook has no port");
    this.url = `https://127.0.0.1:${address.port}`;
    this.#stop = () => {
      server.close();
      server.closeAllConnections();
    };
  }

  stop(): void {
    this.#stop();
  }
}

export const NEVER = Symbol("no answer");
/** The connection breaks once the review has arrived. */
export const BROKEN = Symbol("no connection");

export interface Rule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export const EVICTIONS: Rule = { operations: ["CREATE"], resources: ["pods/eviction"] };
export const DELETIONS: Rule = { operations: ["DELETE"], resources: ["pods"] };
export const CONFIG_MAPS: Rule = { operations: ["CREATE", "UPDATE"], resources: ["configmaps"] };

export interface Configured {
  readonly kind: "Validating" | "Mutating";
  readonly namespace: string;
  readonly rule?: Rule;
  /** Any other field of the webhook. */
  readonly [field: string]: unknown;
}

let configurations = 0;

export function configuration(
  hook: Hook,
  { kind, namespace, rule = EVICTIONS, ...rest }: Configured,
): Record<string, unknown> {
  const caBundle = Buffer.from(hook.authority?.caPem ?? "").toString("base64");
  const common = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    admissionReviewVersions: ["v1"],
    sideEffects: "NoneOnDryRun",
    timeoutSeconds: 1,
  };
  const marker = { url: `${hook.url}/marker/${++configurations}`, caBundle };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: namespace },
    webhooks: [
      {
        ...common,
        name: NAME,
        clientConfig: { url: `${hook.url}/review`, caBundle },
        rules: rulesOf(rule),
        ...rest,
      },
      { ...common, name: `marker.${NAME}`, clientConfig: marker, rules: rulesOf(CONFIG_MAPS), failurePolicy: "Ignore" },
    ],
  };
}

function rulesOf({ operations, resources }: Rule) {
  return [{ operations, resources, apiGroups: [""], apiVersions: ["v1"] }];
}

/** A real server reads configurations from a cache that lags by a moment: the marker is asked once it has caught up. */
export async function seen(hook: Hook, { target, namespace }: Scenario): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  await vi.waitFor(async () => {
    await target().send({ method: "POST", path, body: configMap("marker") });
    expect(hook.calls.map(({ url }) => url)).toContain(`/marker/${configurations}?timeout=1s`);
  });
}

export interface Row {
  readonly respond?: Respond;
  readonly webhook?: object;
  readonly request: Request;
  readonly answer: Answer;
  readonly warnings?: readonly string[];
  readonly called?: boolean;
}

/** One row: configure the webhook, ask, compare. A new configuration takes a moment to be seen by a real server. */
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
    expect(hook.calls.length > 0).toBe(row.called ?? true);
  });
}

export const evict = post("pods/p/eviction?dryRun=All", {
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "p" },
});

/** One for the tests of a file. */
export function useHook(): Hook {
  const hook = new Hook();
  beforeAll(() => hook.start());
  afterAll(() => hook.stop());
  beforeEach(() => {
    hook.calls.length = 0;
  });
  return hook;
}

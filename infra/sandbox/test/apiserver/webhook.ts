/** A webhook that the test controls, and configurations that name it. */
import { createServer } from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Authority, createAuthority } from "../../certificates.ts";

export interface Call {
  readonly url: string;
  readonly request: Readonly<Record<string, unknown>>;
}

/** A review's response, a text to send as it is, or one of the ways not to answer. */
export type Respond = (uid: string, url: string) => object | string | typeof NEVER | typeof CLOSED | Raw;

export const NEVER = Symbol("no answer");
export const CLOSED = Symbol("the connection is closed");

/** An HTTP answer other than 200. */
export class Raw {
  readonly status: number;
  readonly body: object | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body?: object, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export const NAME = "hook.contract.example.com";
export const SERVING = "/apis/admissionregistration.k8s.io/v1";

export const allow: Respond = (uid) => ({ uid, allowed: true });

/** A webhook whose answer each row sets; it keeps the reviews. */
export class Hook {
  readonly calls: Call[] = [];
  respond: Respond = allow;
  authority: Authority | undefined;
  url = "";
  /** How many configurations have named it: each has its own marker. */
  configurations = 0;
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
        answer(outgoing, respond(String(review.request.uid), incoming.url ?? ""));
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

  /** Whether the server has seen the last configuration: it has called its marker. */
  get marked(): boolean {
    return this.calls.some(({ url }) => url.startsWith(`/marker/${this.configurations}?`));
  }
}

function answer(outgoing: ServerResponse, response: ReturnType<Respond>): void {
  if (response === NEVER) return;
  if (response === CLOSED) return void outgoing.destroy();
  outgoing.setHeader("content-type", "application/json");
  if (response instanceof Raw) {
    outgoing.writeHead(response.status, response.headers);
    return void outgoing.end(response.body && enveloped(response.body));
  }
  outgoing.end(typeof response === "string" ? response : enveloped(response));
}

function enveloped(response: object | symbol): string {
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
}

export interface Rule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly scope?: string;
}

export const EVICTIONS: Rule = { operations: ["CREATE"], resources: ["pods/eviction"] };
export const CONFIG_MAPS: Rule = { operations: ["CREATE", "UPDATE"], resources: ["configmaps"] };

export interface Configured {
  readonly kind: "Validating" | "Mutating";
  readonly namespace: string;
  readonly rule?: Rule;
  /** Names of further webhooks like it, each at a path of its name. */
  readonly beside?: readonly string[];
  /** Any other field of the webhook's configuration. */
  readonly [field: string]: unknown;
}

export function configuration(
  hook: Hook,
  { kind, namespace, rule = EVICTIONS, beside = [], ...rest }: Configured,
): Record<string, unknown> {
  const caBundle = Buffer.from(hook.authority?.caPem ?? "").toString("base64");
  const common = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    admissionReviewVersions: ["v1"],
    sideEffects: "NoneOnDryRun",
    timeoutSeconds: 1,
  };
  const marker = { url: `${hook.url}/marker/${++hook.configurations}`, caBundle };
  const webhook = (name: string, path: string) => ({
    ...common,
    name,
    clientConfig: { url: `${hook.url}/${path}`, caBundle },
    rules: rulesOf(rule),
    ...rest,
  });
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: namespace },
    webhooks: [
      webhook(NAME, "review"),
      ...beside.map((name) => webhook(`${name}.${NAME}`, name)),
      { ...common, name: `marker.${NAME}`, clientConfig: marker, rules: rulesOf(CONFIG_MAPS), failurePolicy: "Ignore" },
    ],
  };
}

function rulesOf(rule: Rule) {
  return [{ apiGroups: [""], apiVersions: ["v1"], ...rule }];
}

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

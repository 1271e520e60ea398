/** Admission webhooks: who is asked what, and what every sort of answer (or none) makes of the request. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Authority, createAuthority } from "../../infra/sandbox/certificates.ts";
import { type Answer, type Scenario, compare, contract, valueAt } from "./contract.ts";
import { configMap, del, patch, pod, post } from "./requests.ts";
import type { Request } from "./target.ts";

interface Call {
  readonly url: string;
  readonly request: Readonly<Record<string, unknown>>;
}

type Respond = (uid: string) => unknown;

const NAME = "hook.contract.example.com";
const SERVING = "/apis/admissionregistration.k8s.io/v1";
const DENIED = `admission webhook "${NAME}" denied the request`;

const allow: Respond = (uid) => ({ uid, allowed: true });

/** A webhook whose answer each row sets; what it was asked is kept. */
class Hook {
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

const NEVER = Symbol("no answer");

const hook = new Hook();
beforeAll(() => hook.start());
afterAll(() => hook.stop());
beforeEach(() => {
  hook.calls.length = 0;
});

interface Rule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

const EVICTIONS: Rule = { operations: ["CREATE"], resources: ["pods/eviction"] };
const DELETIONS: Rule = { operations: ["DELETE"], resources: ["pods"] };
const CONFIG_MAPS: Rule = { operations: ["CREATE", "UPDATE"], resources: ["configmaps"] };

let configurations = 0;

function configuration(kind: "Validating" | "Mutating", namespace: string, more: object): Record<string, unknown> {
  const caBundle = Buffer.from(hook.authority?.caPem ?? "").toString("base64");
  const { rule, ...rest }: { rule?: Rule } = { ...more };
  const common = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    admissionReviewVersions: ["v1"],
    sideEffects: "NoneOnDryRun",
    timeoutSeconds: 1,
  };
  const rules = ({ operations, resources }: Rule) => [{ operations, resources, apiGroups: [""], apiVersions: ["v1"] }];
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
        rules: rules(rule ?? EVICTIONS),
        ...rest,
      },
      { ...common, name: `marker.${NAME}`, clientConfig: marker, rules: rules(CONFIG_MAPS), failurePolicy: "Ignore" },
    ],
  };
}

interface Row {
  readonly respond?: Respond;
  readonly webhook?: object;
  readonly request: Request;
  readonly answer: Answer;
  readonly warnings?: readonly string[];
  readonly called?: boolean;
}

/** One row: configure the webhook, ask, compare. A new configuration takes a moment to be seen by a real server. */
function asks(scenario: Scenario, title: string, row: Row): void {
  scenario.checks(title, async (send) => {
    const plural = `${SERVING}/validatingwebhookconfigurations`;
    await send(del(`${plural}/${scenario.namespace}`));
    const body = configuration("Validating", scenario.namespace, row.webhook ?? {});
    expect((await send(post(plural, body))).code).toBe(201);
    await seen(scenario);
    hook.respond = row.respond ?? allow;
    hook.calls.length = 0;
    const response = await send(row.request);
    compare(response, row.answer);
    // Node joins repeated headers.
    expect(response.headers.warning).toBe(row.warnings?.map((text) => `299 - "${text}"`).join(", "));
    expect(hook.calls.length > 0).toBe(row.called ?? true);
  });
}

/** A real server reads configurations from a cache that lags by a moment: the marker is asked once it has caught up. */
async function seen({ target, namespace }: Scenario): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  await vi.waitFor(async () => {
    await target().send({ method: "POST", path, body: configMap("marker") });
    expect(hook.calls.map(({ url }) => url)).toContain(`/marker/${configurations}?timeout=1s`);
  });
}

const evict = post("pods/p/eviction?dryRun=All", {
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "p" },
});
const FAILED = { code: 500, reason: "InternalError" } as const;
const failing = `Internal error occurred: failed calling webhook "${NAME}": `;

contract("answers of a webhook", (scenario) => {
  scenario.given("a pod", post("pods", pod("p")));
  const row = (title: string, rest: Row): void => asks(scenario, title, rest);
  const says =
    (status?: object): Respond =>
    (uid) => ({ uid, allowed: false, ...(status && { status }) });

  row("allows", { request: evict, answer: { code: 201, status: "Success" } });
  row("allows with warnings", {
    respond: (uid) => ({ uid, allowed: true, warnings: ["mind the gap", "twice"] }),
    request: evict,
    answer: { code: 201 },
    warnings: ["mind the gap", "twice"],
  });
  row("denies with a code", {
    respond: says({ code: 429, message: "not now" }),
    request: evict,
    answer: { code: 429, reason: undefined, message: `${DENIED}: not now` },
  });
  row("denies with a code and a reason", {
    respond: says({ code: 429, reason: "TooManyRequests", message: "not now" }),
    request: evict,
    answer: { code: 429, reason: "TooManyRequests", message: `${DENIED}: not now` },
  });
  row("denies without a code", {
    respond: says({ message: "no" }),
    request: evict,
    answer: { code: 400, message: `${DENIED}: no` },
  });
  row("denies without a word", {
    respond: says(),
    request: evict,
    answer: { code: 400, message: `${DENIED} without explanation` },
  });
  row("answers another question", {
    respond: () => ({ uid: "other", allowed: true }),
    request: evict,
    answer: {
      ...FAILED,
      message: /received invalid webhook response: expected response\.uid="[-0-9a-f]+", got "other"$/,
    },
  });
  row("speaks no JSON", {
    respond: () => "hello",
    request: evict,
    answer: { ...FAILED, message: /: failed to call webhook: couldn't get version\/kind; json parse error: / },
  });
  row("speaks no JSON, and may be ignored", {
    webhook: { failurePolicy: "Ignore" },
    respond: () => "hello",
    request: evict,
    answer: { code: 201 },
  });
  row("is too slow", {
    respond: () => NEVER,
    request: evict,
    answer: { ...FAILED, message: /context deadline exceeded/ },
  });
  row("is too slow, and may be ignored", {
    webhook: { failurePolicy: "Ignore" },
    respond: () => NEVER,
    request: evict,
    answer: { code: 201 },
  });
  const nowhere = { clientConfig: { url: "https://127.0.0.1:1/none" } };
  row("is unreachable", {
    webhook: nowhere,
    request: evict,
    answer: {
      ...FAILED,
      message: new RegExp(`^${failing}failed to call webhook: Post "https://127.0.0.1:1/none\\?timeout=1s": `),
    },
    called: false,
  });
  row("is unreachable, and may be ignored", {
    webhook: { ...nowhere, failurePolicy: "Ignore" },
    request: evict,
    answer: { code: 201 },
    called: false,
  });
});

contract("match conditions", (scenario) => {
  scenario.given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a" } } })));
  const when = (expression: string, more: object = {}): object => ({
    matchConditions: [{ name: "when", expression }],
    ...more,
  });
  const row = (title: string, rest: Row): void => asks(scenario, title, rest);
  row("true", { webhook: when("request.name.startsWith('p')"), request: evict, answer: { code: 201 } });
  row("false", { webhook: when("request.name == 'q'"), request: evict, answer: { code: 201 }, called: false });
  row("an error", {
    webhook: when("object.spec.nope == 1"),
    request: evict,
    answer: {
      code: 403,
      reason: "Forbidden",
      message: /^pods "p" is forbidden: expression 'object\.spec\.nope == 1' resulted in error: no such key: /,
    },
    called: false,
  });
  row("an error that may be ignored", {
    webhook: when("object.spec.nope == 1", { failurePolicy: "Ignore" }),
    request: evict,
    answer: { code: 201 },
    called: false,
  });
  const optional = "oldObject.?metadata.?labels[?'app'].orValue('') == 'a'";
  row("optional fields", {
    webhook: when(optional, { rule: DELETIONS }),
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
  });
  row("optional fields that are absent", {
    webhook: when("oldObject.?metadata.?annotations[?'app'].orValue('') == 'a'", { rule: DELETIONS }),
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
    called: false,
  });
  row("who asks", {
    webhook: when("request.userInfo.groups.exists(g, g == 'system:masters')"),
    request: evict,
    answer: { code: 201 },
  });
});

const invalid = (more: object) => () =>
  post(`${SERVING}/validatingwebhookconfigurations`, configuration("Validating", "never", more));

contract("questions to a webhook", (scenario) => {
  const { namespace, checks } = scenario;
  scenario.given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a" } } })));
  scenario.asks("with effects that dry runs would have", invalid({ sideEffects: "Some" }), {
    code: 422,
    message: /webhooks\[0\]\.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"/,
  });
  scenario.asks("with more time than there is", invalid({ timeoutSeconds: 31 }), {
    code: 422,
    message: /webhooks\[0\]\.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds$/,
  });
  scenario.asks("without TLS", invalid({ clientConfig: { url: "http://127.0.0.1/" } }), {
    code: 422,
    message: /webhooks\[0\]\.clientConfig\.url: Invalid value: "http": 'https' is the only allowed URL scheme/,
  });
  asks(scenario, "an eviction", {
    request: evict,
    answer: { code: 201 },
  });
  checks("is the creation of a subresource, and the pod is not in it", async (send) => {
    await send(evict);
    const [call] = hook.calls;
    expect(call?.url).toBe("/review?timeout=1s");
    expect(call?.request).toMatchObject({
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      name: "p",
      namespace,
      operation: "CREATE",
      oldObject: null,
      dryRun: true,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    });
    expect(valueAt(call?.request, "object.metadata.name")).toBe("p");
  });
  checks("a dry run in the options of the eviction is not one of the request", async (send) => {
    const options = { deleteOptions: { dryRun: ["All"] } };
    await send(
      post("pods/p/eviction", { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, ...options }),
    );
    expect(hook.calls[0]?.request).toMatchObject({ dryRun: false, object: options });
  });
  asks(scenario, "a deletion", {
    webhook: { rule: DELETIONS },
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
  });
  checks("shows what is to go", async (send) => {
    await send(del("pods/p?dryRun=All"));
    expect(hook.calls[0]?.request).toMatchObject({ operation: "DELETE", object: null, oldObject: { kind: "Pod" } });
  });
  asks(scenario, "an object that is not selected", {
    webhook: { rule: DELETIONS, objectSelector: { matchLabels: { app: "b" } } },
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
    called: false,
  });
});

contract("a mutating webhook", (scenario) => {
  const { asks: rows, namespace, target } = scenario;
  const encode = (patches: object[]): string => Buffer.from(JSON.stringify(patches)).toString("base64");
  test("is configured", async () => {
    const body = configuration("Mutating", namespace, { rule: CONFIG_MAPS });
    hook.respond = allow;
    const { code } = await target().send(post(`${SERVING}/mutatingwebhookconfigurations`, body));
    expect(code).toBe(201);
    await seen(scenario);
    hook.respond = (uid) => ({
      uid,
      allowed: true,
      patchType: "JSONPatch",
      patch: encode([{ op: "add", path: "/data/added", value: "by hook" }]),
    });
  });
  rows("changes what is created", post("configmaps", configMap("c", { data: { a: "1" } })), {
    code: 201,
    data: { a: "1", added: "by hook" },
  });
  rows("and undoes what is changed", patch("configmaps/c", "merge", { data: { added: null } }), {
    code: 200,
    data: { a: "1", added: "by hook" },
  });
});

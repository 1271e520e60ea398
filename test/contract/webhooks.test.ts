/** Admission webhooks: who is asked what, and what every sort of answer (or none) makes of the request. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Answer, type Scenario, compare, contract, valueAt } from "./contract.ts";
import { configMap, del, patch, pod, post } from "./requests.ts";
import type { Request } from "./client.ts";
import {
  CONFIG_MAPS,
  DELETIONS,
  Hook,
  NAME,
  NEVER,
  type Respond,
  SERVING,
  allow,
  configuration,
  seen,
} from "./hook.ts";

const DENIED = `admission webhook "${NAME}" denied the request`;

const hook = new Hook();
beforeAll(() => hook.start());
afterAll(() => hook.stop());
beforeEach(() => {
  hook.calls.length = 0;
});

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

const evict = post("pods/p/eviction?dryRun=All", {
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "p" },
});
const FAILED = { code: 500, reason: "InternalError" } as const;
const failing = `Internal error occurred: failed calling webhook "${NAME}": `;

const says =
  (status?: object): Respond =>
  (uid) => ({ uid, allowed: false, ...(status && { status }) });

contract("answers of a webhook", (scenario) => {
  scenario.given("a pod", post("pods", pod("p")));
  const row = (title: string, rest: Row): void => asks(scenario, title, rest);

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

const when = (expression: string, more: object = {}): object => ({
  matchConditions: [{ name: "when", expression }],
  ...more,
});

contract("match conditions", (scenario) => {
  scenario.given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a" } } })));
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
  post(
    `${SERVING}/validatingwebhookconfigurations`,
    configuration(hook, { kind: "Validating", namespace: "never", ...more }),
  );

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

const operations = [{ op: "add", path: "/data/added", value: "by hook" }];

contract("a mutating webhook", (scenario) => {
  const { asks: rows, namespace, target } = scenario;
  test("is configured", async () => {
    const body = configuration(hook, { kind: "Mutating", namespace, rule: CONFIG_MAPS });
    hook.respond = allow;
    const { code } = await target().send(post(`${SERVING}/mutatingwebhookconfigurations`, body));
    expect(code).toBe(201);
    await seen(hook, scenario);
    hook.respond = (uid) => ({
      uid,
      allowed: true,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
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

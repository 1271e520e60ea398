/** Admission webhooks: the reviews they get, and the changes of mutating ones. */
import { expect, test } from "vitest";
import { contract } from "./contract.ts";
import { asksWebhook, evict, seen, useHook } from "./hook.ts";
import { configMap, del, patch, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";
import { CONFIG_MAPS, DELETIONS, SERVING, allow, configuration, NAME, NEVER } from "./webhook.ts";

const hook = useHook();

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
  asksWebhook(hook, scenario, "an eviction", {
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
  asksWebhook(hook, scenario, "of two that refuse, the first to answer is heard", {
    webhook: { beside: ["quick"] },
    respond: (uid, url) => (url.startsWith("/quick?") ? { uid, allowed: false, status: { message: "no" } } : NEVER),
    request: evict,
    answer: { code: 400, message: `admission webhook "quick.${NAME}" denied the request: no` },
  });
  asksWebhook(hook, scenario, "an eviction that is asked about again", { request: evict, answer: { code: 201 } });
  checks("a dry run in the options of the eviction is not one of the request", async (send) => {
    const options = { deleteOptions: { dryRun: ["All"] } };
    await send(
      post("pods/p/eviction", { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, ...options }),
    );
    expect(hook.calls[0]?.request).toMatchObject({ dryRun: false, object: options });
  });
  checks("of the query it is written into the options that are there, for the webhook to see", async (send) => {
    const body = { apiVersion: "policy/v1beta1", kind: "Eviction", metadata: { name: "p" } };
    await send(post("pods/p/eviction?dryRun=All", { ...body, deleteOptions: { gracePeriodSeconds: 5 } }));
    await send(post("pods/p/eviction?dryRun=All", body));
    const [first, second] = hook.calls.map(({ request }) => request.object);
    expect(first).toMatchObject({ apiVersion: "policy/v1", deleteOptions: { gracePeriodSeconds: 5, dryRun: ["All"] } });
    expect(second).not.toHaveProperty("deleteOptions");
  });
  checks("a pod that is not there is asked about, too", async (send) => {
    const { code } = await send(post("pods/none/eviction", { metadata: { name: "none" } }));
    expect([code, ...hook.calls.map(({ request }) => request.name)]).toEqual([404, "none"]);
  });
  asksWebhook(hook, scenario, "a deletion", {
    webhook: { rule: DELETIONS },
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
  });
  checks("shows what is to go", async (send) => {
    await send(del("pods/p?dryRun=All"));
    expect(hook.calls[0]?.request).toMatchObject({ operation: "DELETE", object: null, oldObject: { kind: "Pod" } });
  });
  asksWebhook(hook, scenario, "an object that is not selected", {
    webhook: { rule: DELETIONS, objectSelector: { matchLabels: { app: "b" } } },
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
    called: false,
  });
});

const placed = (name: string, more: object = {}) => pod(name, { ...more, spec: { nodeName: "somewhere" } });

contract("how often a webhook is asked", (scenario) => {
  const { given, checks } = scenario;
  given("a pod on a node", post("pods", placed("p")));
  given("another", post("pods", placed("q")));
  given("one with a finalizer", post("pods", placed("f", { metadata: { finalizers: ["example.com/keep"] } })));
  given("one on no node", post("pods", pod("n")));
  asksWebhook(hook, scenario, "a deletion", {
    webhook: { rule: DELETIONS },
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
  });
  const evictQ = post("pods/q/eviction", { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "q" } });
  // prettier-ignore
  const rows = [
    // request                                               times
    ["an eviction",                   evictQ,                                       0],
    ["a deletion",                    del("pods/p"),                                1],
    ["again, while it terminates",    del("pods/p"),                                0],
    ["with no less time",             del("pods/p", { gracePeriodSeconds: 30 }),    0],
    ["with less time",                del("pods/p", { gracePeriodSeconds: 5 }),     1],
    ["by force, as a dry run",        del("pods/p?gracePeriodSeconds=0&dryRun=All"), 1],
    ["by force",                      del("pods/p?gracePeriodSeconds=0"),           2],
    ["by force, with a finalizer",    del("pods/f?gracePeriodSeconds=0"),           1],
    ["of a pod on no node",           del("pods/n"),                                2],
    ["of a pod that is gone",         del("pods/n"),                                0],
  ] as const;
  for (const [what, request, times] of rows)
    checks(`${what}: ${times}`, async (send) => {
      await send(request);
      expect(hook.calls.map(({ request: { operation } }) => operation)).toEqual(Array(times).fill("DELETE"));
    });
});

contract("what a webhook is told of a request", (scenario) => {
  const { given, checks, namespace } = scenario;
  const RULE = { operations: ["UPDATE", "DELETE"], resources: ["configmaps"] };
  for (const name of ["a", "b"]) given(name, post("configmaps", configMap(name)));
  asksWebhook(hook, scenario, "an update", {
    webhook: { rule: RULE },
    request: patch("configmaps/a?dryRun=All&fieldManager=me", "merge", { data: { a: "1" } }),
    answer: { code: 200 },
  });
  checks("a patch has the options of an update", async (send) => {
    await send(patch("configmaps/a?dryRun=All&fieldManager=me", "merge", { data: { a: "2" } }));
    const options = { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", dryRun: ["All"], fieldManager: "me" };
    const reviews = hook.calls.filter(({ url }) => url.startsWith("/review?"));
    expect(reviews.map(({ request }) => request.options)).toEqual([options]);
  });
  checks("of a collection only the old objects say which", async (send) => {
    await send(del("configmaps?dryRun=All"));
    const seen = hook.calls.map(({ request }) => [request.name ?? "", request.namespace, request.operation]);
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(new Set(seen.map(String))).toEqual(new Set([["", namespace, "DELETE"].join()]));
    const names = hook.calls.map(({ request }) => String(valueAt(request, "oldObject.metadata.name")));
    expect(names).toEqual(expect.arrayContaining(["a", "b"]));
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

const create = () => post("configmaps?dryRun=All", configMap("c", { data: { a: "1" } }));
const encoded = (patches: unknown) => Buffer.from(JSON.stringify(patches)).toString("base64");

const answers = (more: object) => (): ReturnType<typeof create> => {
  hook.respond = (uid) => ({ uid, allowed: true, ...more });
  return create();
};

contract("a patch that does not apply", (scenario) => {
  const { asks: rows, namespace, target } = scenario;
  test("is configured", async () => {
    const body = configuration(hook, { kind: "Mutating", namespace, rule: CONFIG_MAPS, failurePolicy: "Ignore" });
    hook.respond = allow;
    expect((await target().send(post(`${SERVING}/mutatingwebhookconfigurations`, body))).code).toBe(201);
    await seen(hook, scenario);
  });
  const failing = encoded([{ op: "test", path: "/data/a", value: "9" }]);
  rows("is an error of the server, which no policy ignores", answers({ patchType: "JSONPatch", patch: failing }), {
    code: 500,
    message: "Internal error occurred: testing value /data/a failed: test failed",
  });
  rows("without a type it is one of the webhook", answers({ patch: failing }), { code: 201, data: { a: "1" } });
  rows("with another type, too", answers({ patchType: "Merge", patch: failing }), { code: 201, data: { a: "1" } });
  rows("and one that is none", answers({ patchType: "JSONPatch", patch: encoded({}) }), { code: 201 });
});

contract("a mutating webhook and deletions", (scenario) => {
  const { asks: rows, given, namespace, target } = scenario;
  given("a config map", post("configmaps", configMap("c")));
  test("is configured", async () => {
    const rule = { operations: ["CREATE", "DELETE"], resources: ["configmaps"] };
    const body = configuration(hook, { kind: "Mutating", namespace, rule });
    hook.respond = allow;
    expect((await target().send(post(`${SERVING}/mutatingwebhookconfigurations`, body))).code).toBe(201);
    await seen(hook, scenario);
    hook.respond = (uid) => ({ uid, allowed: false, status: { code: 403, message: "keep it" } });
  });
  rows("may deny", del("configmaps/c"), {
    code: 403,
    message: 'admission webhook "hook.contract.example.com" denied the request: keep it',
  });
});

/** Admission webhooks: what they are asked, and what mutating ones change. */
import { expect, test } from "vitest";
import { contract } from "./contract.ts";
import { asksWebhook, evict, seen, useHook } from "./hook.ts";
import { configMap, del, patch, pod, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";
import { CONFIG_MAPS, DELETIONS, SERVING, allow, configuration } from "./webhook.ts";

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
  checks("a dry run in the options of the eviction is not one of the request", async (send) => {
    const options = { deleteOptions: { dryRun: ["All"] } };
    await send(
      post("pods/p/eviction", { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, ...options }),
    );
    expect(hook.calls[0]?.request).toMatchObject({ dryRun: false, object: options });
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

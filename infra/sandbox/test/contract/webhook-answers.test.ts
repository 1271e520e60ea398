/** Admission webhooks: the effect of every sort of answer (or none), and which requests they review at all. */
import { expect } from "vitest";
import { type Answer, contract } from "./contract.ts";
import { type Row, asksWebhook, evict, useHook } from "./hook.ts";
import { del, pod, post } from "./requests.ts";
import { DELETIONS, NAME, NEVER, Raw, type Respond } from "./webhook.ts";

const DENIED = `admission webhook "${NAME}" denied the request`;

const hook = useHook();

const FAILED = { code: 500, reason: "InternalError" } as const;
const failing = `Internal error occurred: failed calling webhook "${NAME}": `;

const says =
  (status?: object): Respond =>
  (uid) => ({ uid, allowed: false, ...(status && { status }) });

contract("answers of a webhook", (scenario) => {
  scenario.given("a pod", post("pods", pod("p")));
  const row = (title: string, rest: Row): void => asksWebhook(hook, scenario, title, rest);

  row("allows", { request: evict, answer: { code: 201, status: "Success" } });
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
  row("denies with a code of success", {
    respond: says({ code: 200, message: "fine" }),
    request: evict,
    answer: { code: 400, status: "Failure", message: `${DENIED}: fine` },
  });
  // prettier-ignore
  const waits: readonly (readonly [what: string, status: object, answer: Answer, retryAfter?: string])[] = [
    ["denies until later",            { code: 429, message: "no", details: { retryAfterSeconds: 5 } }, { code: 429, message: `${DENIED}: no`, "details.retryAfterSeconds": 5 }, "5"],
    ["… with another code",           { code: 403, details: { retryAfterSeconds: 15 } },               { code: 403, "details.retryAfterSeconds": 15 }, "15"],
    ["… without a code",              { details: { retryAfterSeconds: 5 } },                           { code: 400, "details.retryAfterSeconds": 5 }, "5"],
    ["… in no time",                  { code: 429, details: { retryAfterSeconds: 0 } },                { code: 429 }],
    ["denies too many requests",      { code: 429, message: "no" },                                    { code: 429, message: `${DENIED}: no`, "details.retryAfterSeconds": undefined }],
  ];
  for (const [what, status, answer, retryAfter] of waits)
    for (const [verb, rule, request] of [
      ["an eviction", undefined, evict],
      ["a deletion", DELETIONS, del("pods/p?dryRun=All")],
    ] as const)
      row(`${what}: ${verb}`, {
        respond: says(status),
        request,
        answer,
        ...(rule && { webhook: { rule } }),
        ...(retryAfter && { retryAfter }),
      });
  row("warns in vain", {
    respond: (uid) => ({ uid, allowed: true, warnings: ["", "two\nlines", "kept", "kept"] }),
    request: evict,
    answer: { code: 201 },
    warnings: ["kept"],
  });
  const patch = { patchType: "JSONPatch", patch: Buffer.from("[]").toString("base64") };
  // prettier-ignore
  const broken: readonly (readonly [how: string, respond: Respond, error: string])[] = [
    ["says nothing",             () => "{}",                                     "received invalid webhook response: webhook response was absent"],
    ["says not what it is",      (uid) => JSON.stringify({ response: { uid, allowed: true } }), "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="],
    ["changes what it may not",  (uid) => ({ uid, allowed: true, ...patch }),    "received invalid webhook response: validating webhook may not return response.patch"],
    ["has no content",           () => new Raw(204),                             "failed to call webhook: 0-length response with status code: 204 and content type: application/json"],
    ["finds fault",              (uid) => new Raw(400, { uid, allowed: true }),  "failed to call webhook: the server rejected our request for an unknown reason"],
    ["is at fault",              (uid) => new Raw(500, { uid, allowed: true }),  'failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding'],
    ["is at fault, in words",    () => new Raw(502, undefined, { "content-type": "text/html" }), 'failed to call webhook: an error on the server ("") has prevented the request from succeeding'],
    ["is overloaded",            () => new Raw(503),                             "failed to call webhook: the server is currently unable to handle the request"],
  ];
  for (const [how, respond, error] of broken)
    row(how, { respond, request: evict, answer: { ...FAILED, message: `${failing}${error}` } });
  scenario.checks("is asked again as often as it says when", async (send) => {
    const busy = new Raw(503, undefined, { "retry-after": "0" });
    for (const [times, code, calls] of [
      [2, 201, 3],
      [Infinity, 500, 11],
    ] as const) {
      hook.calls.length = 0;
      hook.respond = (uid) => (hook.calls.length <= times ? busy : { uid, allowed: true });
      expect((await send(evict)).code).toBe(code);
      expect(hook.calls).toHaveLength(calls);
    }
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
});

const when = (expression: string, more: object = {}): object => ({
  matchConditions: [{ name: "when", expression }],
  ...more,
});

contract("match conditions", (scenario) => {
  scenario.given("a pod", post("pods", pod("p", { metadata: { labels: { app: "a" } } })));
  const row = (title: string, rest: Row): void => asksWebhook(hook, scenario, title, rest);
  row("true", { webhook: when("request.name.startsWith('p')"), request: evict, answer: { code: 201 } });
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
});

/** Admission webhooks: what every sort of answer (or none) makes of the request, and when they are asked at all. */
import { contract } from "./contract.ts";
import { type Row, asksWebhook, evict, useHook } from "./hook.ts";
import { del, patch, pod, post } from "./requests.ts";
import { DELETIONS, NAME, NEVER, type Respond } from "./webhook.ts";

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
  const row = (title: string, rest: Row): void => asksWebhook(hook, scenario, title, rest);
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
  const targeted =
    "oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'DisruptionTarget' && c.status == 'True')";
  row("a deletion without the condition", {
    webhook: when(targeted, { rule: DELETIONS }),
    request: del("pods/p?dryRun=All"),
    answer: { code: 200 },
    called: false,
  });
  const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
  scenario.given("the condition", patch("pods/p/status", "merge", { status: { conditions: [condition] } }));
  row("a deletion with the condition", {
    webhook: when(targeted, { rule: DELETIONS }),
    respond: says({ code: 429, message: "no" }),
    request: del("pods/p?dryRun=All"),
    answer: { code: 429, message: `${DENIED}: no` },
  });
  row("who asks", {
    webhook: when("request.userInfo.groups.exists(g, g == 'system:masters')"),
    request: evict,
    answer: { code: 201 },
  });
});

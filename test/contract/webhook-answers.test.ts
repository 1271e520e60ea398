/** Admission webhooks: what every sort of answer (or none) makes of the request, and when they are asked at all. */
import { contract } from "./contract.ts";
import { type Row, asksWebhook, evict, useHook } from "./hook.ts";
import { del, pod, post } from "./requests.ts";
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
  row("denies without a code", {
    respond: says({ message: "no" }),
    request: evict,
    answer: { code: 400, message: `${DENIED}: no` },
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

/** `lifeboat doctor` on a cluster with Lifeboat as shipped: in order, and broken in many ways, one at a time. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { secrets } from "../../../infra/sandbox/actors/resources.ts";
import { kubeVirts } from "../../../infra/sandbox/kubevirt/resources.ts";
import { type Stage, WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import {
  CLUSTER_ROLES,
  keep,
  patchWebhook,
  report,
  reportOnWebhook,
  startHealthyStage,
  steady,
  trouble,
  webhookUrl,
} from "./doctor-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await startHealthyStage();
});
afterAll(() => stage.stop());

const doctor = () => lifeboat("doctor", { kubeconfig: stage.sandbox.kubeconfig });

test("in order: every check is said, exit code 0", async () => {
  const { code, out, err } = await doctor();
  expect(steady(out)).toEqual([
    "Kubernetes",
    "  √ the API server is 1.36.2 (needs 1.33)",
    "",
    "KubeVirt",
    "  √ kubevirt.io/v1 is served",
    "  √ KubeVirt is v1.9.0 (needs 1.7)",
    "  √ 5 migrations at a time, 2 from a node",
    "  √ the cluster's eviction strategy is LiveMigrate",
    "  √ KubeVirt's own eviction webhook (virt-api-validator) fails closed",
    "",
    "Lifeboat",
    "  √ lifeboat.dev/v1alpha1 is served",
    "  √ condition Ready is True (Valid) for AGE",
    "  √ condition Permitted is True (Granted) for AGE",
    "  √ condition WebhookCalled is True (Called) for AGE",
    "  √ condition ReviewsDecided is True (Decided) for AGE",
    "  √ the permissions of rbac.yaml are granted",
    "  √ the guard is off",
    "  √ a dry-run eviction of pod vms/POD is answered by Lifeboat",
    "",
    "Relay",
    "  √ there is no relay, and nothing that is on needs one",
    "",
    "Credentials",
    "  √ Lifeboat's token in Secret SECRET is AGE old",
    "  √ condition CredentialsValid is True (Valid) for AGE",
    "",
    "√ all 17 checks passed",
  ]);
  expect({ code, err }).toEqual({ code: 0, err: [] });
});

test("it changes nothing: neither the VM, nor its evacuations", async () => {
  const world = async () => JSON.stringify(await stage.client.list(kubeVirts));
  const vm = () => stage.client.read("/apis/kubevirt.io/v1/namespaces/vms/virtualmachineinstances/web");
  const [before, web] = [await world(), await vm()];
  await doctor();
  expect([await world(), await vm()]).toEqual([before, web]);
  const evacuations = z.object({ items: z.array(z.unknown()) });
  expect(evacuations.parse(await stage.client.read("/apis/lifeboat.dev/v1alpha1/evacuations")).items).toEqual([]);
});

const DRY_RUN = "  × a dry-run eviction of pod vms/POD is not answered by Lifeboat";
const KUBEVIRTS_WORDS =
  '      429: admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: Eviction triggered evacuation of VMI "vms/web"';
const HEALTHZ = "      curl https://HOST/healthz, on a host of the API server";
const UNREACHED = [
  DRY_RUN,
  KUBEVIRTS_WORDS,
  "      only webhook virt-launcher-eviction-interceptor.kubevirt.io has refused it: the API server does not reach Lifeboat (firewall, DNS, caBundle), Lifeboat does not accept the URL's",
  "      cluster or webhookToken, the API server does not accept the Worker's token (see Credentials), or the webhook leaves the pod out; failurePolicy Ignore hides that",
  HEALTHZ,
];
const INSTALL = "      lifeboat install --worker URL";
/** What a full scan has written, as it is said. */
const condition = (verdict: string, message: string) => [`  ${verdict} for AGE`, `      lifeboat: ${message}`, INSTALL];
const WRONG = "× condition WebhookCalled is False (WebhookMisconfigured)";

describe("broken", () => {
  test("the webhook is deleted", async () => {
    await keep(stage, WEBHOOK_CONFIGURATIONS, "lifeboat");
    await stage.client.delete(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual([
      DRY_RUN,
      KUBEVIRTS_WORDS,
      "      webhook lifeboat is missing, so the API server does not ask",
      INSTALL,
    ]);
    expect([code, out.at(-1)]).toEqual([3, "× 17 checks: 1 failed"]);
  });

  // prettier-ignore
  test.each<[string, string, (url: string) => unknown, readonly string[]]>([
    ["its URL has another token",        "clientConfig/url",  (url) => url.replace(/[^/]*$/, "another"), [...condition(WRONG, "clientConfig.url: expected a webhookToken of this cluster as the last segment"), ...UNREACHED]],
    ["nothing is where its URL leads",   "clientConfig/url",  (url) => url.replace(/:\d+/, ":2"), UNREACHED],
    ["it asks about nothing",            "matchConditions",   () => [{ name: "never", expression: "false" }], [...condition(WRONG, "matchConditions.never: with this the API server asks nothing"), ...UNREACHED]],
  ])("webhook lifeboat: %s", async (_, field, change, expected) => {
    onTestFinished(async () => {
      await doctor();
      await report(stage);
    });
    await keep(stage, WEBHOOK_CONFIGURATIONS, "lifeboat");
    await patchWebhook(stage, field, change(await webhookUrl(stage)));
    const [verdict = "", message = ""] = expected;
    if (verdict.includes("condition")) await reportOnWebhook(stage, message.trim());
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual(expected);
    expect(code).toBe(3);
  });

  test("the Worker is down", async () => {
    await stage.stopWorker();
    onTestFinished(() => stage.restartWorker());
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual(UNREACHED);
    expect(code).toBe(3);
  });

  test("permissions are missing from the role", async () => {
    await keep(stage, CLUSTER_ROLES, "lifeboat");
    const { rules } = z
      .object({ rules: z.array(z.looseObject({ resources: z.array(z.string()) })) })
      .parse(await stage.client.get(CLUSTER_ROLES, { name: "lifeboat" }));
    const value = rules.filter(({ resources }) => !resources.includes("nodes") && !resources.includes("events"));
    const body = [{ op: "replace", path: "/rules", value }];
    await stage.client.patch(CLUSTER_ROLES, { name: "lifeboat" }, { type: "json", body });
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual([
      "  × Lifeboat lacks 3 permissions of rbac.yaml",
      expect.stringMatching(/^ {6}get nodes: the page cannot cancel an evacuation; /),
      expect.stringMatching(/^ {6}list nodes: no full scan: a drain taint is not seen; /),
      "      create events: no Event tells of an evacuation",
      "      lifeboat install",
    ]);
    expect(code).toBe(3);
  });

  test("the Worker's token was revoked: the command that makes another one", async () => {
    const { client } = stage;
    const { items } = await client.list(secrets, "lifeboat-system");
    for (const { metadata } of items) await client.delete(secrets, metadata);
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual([
      ...UNREACHED,
      "  × no Secret holds a token of Lifeboat's account",
      "      the Worker's token ends by itself, or was revoked: then Lifeboat can neither read nor move anything",
      "      lifeboat rotate",
    ]);
    expect(code).toBe(3);
  });
});

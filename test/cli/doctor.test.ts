/** `lifeboat doctor` on a cluster with Lifeboat as shipped: in order, and broken in many ways, one at a time. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { kubeVirts } from "../../infra/sandbox/kubevirt/resources.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { definitions } from "../../infra/tools/apply.ts";
import { type Stage, WEBHOOK_CONFIGURATIONS } from "../blackbox/stage.ts";
import {
  CLUSTER_ROLES,
  CONFIGURATION,
  configureKubeVirt,
  DEFINITIONS,
  keep,
  patchWebhook,
  report,
  reportOnWebhook,
  sayVersion,
  startHealthyStage,
  steady,
  trouble,
  webhookUrl,
} from "./doctor-stage.ts";
import { lifeboat } from "./lifeboat.ts";

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
    "  √ 5 migrations at a time, 2 from a node, no limit of bandwidth",
    "  √ the cluster's eviction strategy is LiveMigrate",
    "  √ updates of KubeVirt leave running VMs alone",
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
    "Shield",
    "  √ the shield is off",
    "",
    "√ all 19 checks passed",
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
const HEALTHZ =
  '      curl https://HOST/healthz, on a host of the API server; infra/kubernetes/README.md, "Reaching the Worker"';
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

const outdated = (type: string) => [
  expect.stringContaining(`  ‼ condition ${type} is True`),
  "      it is about the configuration before its last change: the next full scan updates it",
];

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
    expect([code, out.at(-1)]).toEqual([3, "× 19 checks: 1 failed"]);
  });

  // prettier-ignore
  test.each<[string, string, (url: string) => unknown, readonly string[]]>([
    ["its URL has another token",        "clientConfig/url",  (url) => url.replace(/[^/]*$/, "another"), [...condition(WRONG, "clientConfig.url: expected a webhookToken of this cluster as the last segment"), ...UNREACHED]],
    ["nothing is where its URL leads",   "clientConfig/url",  (url) => url.replace(/:\d+/, ":2"), UNREACHED],
    ["it asks about nothing",            "matchConditions",   () => [{ name: "never", expression: "false" }], [...condition(WRONG, "matchConditions.never: leaves everything out"), ...UNREACHED]],
    ["it has another failurePolicy",     "failurePolicy",     () => "Fail", condition("‼ condition WebhookCalled is True (Called)", "failurePolicy: Fail, not Ignore")],
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
    expect(code).toBe(expected.some((line) => line.includes("×")) ? 3 : 0);
  });

  test("webhook lifeboat: its URL leads to another endpoint", async () => {
    await keep(stage, WEBHOOK_CONFIGURATIONS, "lifeboat");
    await patchWebhook(stage, "clientConfig/url", (await webhookUrl(stage)).replace("evictions", "deletions"));
    const { code, out } = await doctor();
    // KubeVirt's webhook refuses, too, and the API server shows the refusal that comes first.
    expect([code, trouble(out)[0]]).toEqual([
      3,
      expect.stringMatching(
        /^ {2}× a dry-run eviction of pod vms\/POD(?:: another endpoint of Lifeboat is asked| is not answered by Lifeboat)$/,
      ),
    ]);
  });

  test("with failurePolicy Fail nothing hides that Lifeboat is away, and the token is not said", async () => {
    await keep(stage, WEBHOOK_CONFIGURATIONS, "lifeboat");
    const url = await webhookUrl(stage);
    await patchWebhook(stage, "failurePolicy", "Fail");
    await patchWebhook(stage, "clientConfig/url", url.replace(/:\d+/, ":2"));
    const { code, out } = await doctor();
    expect([code, out.join("\n")]).toEqual([3, expect.stringContaining("the API server asks, and gets no answer")]);
    expect(out.join("\n")).not.toContain(url.split("/").at(-1));
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
      "      kubectl apply -f infra/kubernetes/rbac.yaml",
    ]);
    expect(code).toBe(3);
  });

  test("a gate of the guard is on, without guard.yaml and without a relay", async () => {
    await stage.configure({ ...CONFIGURATION, featureGates: { PreemptionEvictionLiveMigration: true } });
    onTestFinished(async () => {
      await stage.configure(CONFIGURATION);
      await report(stage);
    });
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual([
      ...["Ready", "Permitted", "WebhookCalled", "ReviewsDecided"].flatMap((type) => outdated(type)),
      "  × Lifeboat lacks 1 permission of optional/guard/guard.yaml",
      "      delete pods: a pod that the taint manager gave up on stays past its deadline",
      "      kubectl apply -f infra/kubernetes/optional/guard/guard.yaml",
      "  × there is no relay",
      "      the guard is on: deletions that the API server does not ask it about go unnoticed",
      '      infra/relay/README.md, "Install"',
      ...outdated("CredentialsValid"),
    ]);
    expect(code).toBe(3);
  });

  // prettier-ignore
  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ["no migration may begin", { migrations: { parallelMigrationsPerCluster: 0 } }, /^ {2}× 0 migrations at a time.*\n.*no migration ever begins\n {6}kubectl -n kubevirt patch kubevirt kubevirt /],
    ["no strategy",            { evictionStrategy: null },                          /^ {2}‼ the cluster's eviction strategy is not set\n.*shuts down VMs.*\n {6}kubectl/],
  ])("KubeVirt's settings: %s", async (_, change, expected) => {
    await configureKubeVirt(stage, change);
    onTestFinished(() => configureKubeVirt(stage, { evictionStrategy: "LiveMigrate", migrations: null }));
    const { code, out } = await doctor();
    expect(trouble(out).join("\n")).toMatch(expected);
    expect(code).toBe(String(expected).includes("×") ? 3 : 0);
  });

  test("KubeVirt is too old", async () => {
    await sayVersion(stage, "v1.5.2");
    onTestFinished(() => sayVersion(stage, "v1.9.0"));
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual([
      "  × KubeVirt is v1.5.2, too old (needs 1.7)",
      "      Lifeboat is neither made for older versions nor tested with them",
      "      https://kubevirt.io/user-guide/cluster_admin/updating_and_deletion/",
    ]);
    expect(code).toBe(3);
  });

  test("the kind Evacuation is gone", async () => {
    await stage.client.delete(DEFINITIONS, { name: "evacuations.lifeboat.dev" });
    onTestFinished(() => applyManifests(stage.client, definitions()));
    const { code, out } = await doctor();
    expect(trouble(out).slice(0, 3)).toEqual([
      "  × lifeboat.dev/v1alpha1: evacuations not served",
      "      Lifeboat refuses every eviction of a VM while it cannot read them",
      "      kubectl apply -f infra/kubernetes/crds",
    ]);
    expect(code).toBe(3);
  });
});

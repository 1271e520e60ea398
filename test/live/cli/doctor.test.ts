/** `lifeboat doctor` on a cluster with Lifeboat as shipped: in order, and broken in many ways, one at a time. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { type Credentials, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import type { Stage } from "../stage.ts";
import { DEFINITIONS, startHealthyStage, steady, trouble } from "./doctor-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

const Token = z.object({ status: z.object({ token: z.string() }) });

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
    "  √ the component maintenance is not installed: nobody can drain with Lifeboat",
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
describe("broken", () => {
  test("the Worker is down", async () => {
    await stage.stopWorker();
    onTestFinished(() => stage.restartWorker());
    const { code, out } = await doctor();
    expect(trouble(out)).toEqual(UNREACHED);
    expect(code).toBe(3);
  });

  test("given a reader who may do nothing, each check says what to ask for: 4", async () => {
    const { client, sandbox } = stage;
    const path = "/api/v1/namespaces/default/serviceaccounts";
    await client.raw({ method: "POST", path, body: { metadata: { name: "nobody" } } });
    const request = { method: "POST", path: `${path}/nobody/token`, body: { spec: {} } } as const;
    const { token } = Token.parse((await client.raw(request)).body).status;
    const { url, caPem } = sandbox;
    const { code, out } = await lifeboat("doctor", { kubeconfig: { url, caPem, user: "jane", token } });
    const text = out.join("\n");
    expect(text).toMatch(
      / {2}‼ the KubeVirt object could not be read\n {6}you are not allowed to do this: kubevirts\.kubevirt\.io is forbidden: .*\n {6}ask an administrator of the cluster for the permission, or to run lifeboat doctor\n/,
    );
    expect([code, text.includes("×")]).toEqual([4, false]);
  });
});

describe("another cluster", () => {
  let bare: Sandbox;
  beforeAll(async () => {
    bare = await startSandbox({ empty: true });
  });
  afterAll(() => bare.stop());

  const ask = (line: string, tweak: Partial<Credentials> = {}) => {
    const { url, caPem, adminToken } = bare;
    return lifeboat(line, { kubeconfig: { url, caPem, user: "jane", token: adminToken, ...tweak } });
  };

  // prettier-ignore
  test.each<[string, Partial<Credentials>, RegExp]>([
    ["nothing is there",               { url: "https://127.0.0.1:2" }, /cannot be reached: connect ECONNREFUSED/],
    ["the credentials have ended",     { token: "old" },               /does not accept your credentials/],
  ])("when %s, doctor and every other command say so, and which cluster was asked", async (_, tweak, said) => {
    const { code, out } = await ask("doctor", tweak);
    expect([code, trouble(out)[0]]).toEqual([3, expect.stringMatching(/× the API server cannot be asked/)]);
    const other = await ask("explain node node01", tweak);
    expect([other.code, ...other.err]).toEqual([1, expect.stringMatching(said), expect.stringMatching(/^\(context "jane@sandbox", https:/)]);
  });

  test("when it has KubeVirt alone, and when it has neither, doctor says what to install: 3", async () => {
    const alone = await ask("doctor");
    expect([alone.code, trouble(alone.out).join("\n")]).toEqual([
      3,
      expect.stringMatching(/× Lifeboat is not installed in this cluster\n.*\n.*lifeboat install --in-cluster, or/),
    ]);
    expect((await ask("evacuate web")).err[0]).toMatch(
      /does not serve Lifeboat's kinds .*: lifeboat install brings them/,
    );
    const { items } = await bare.client.list(DEFINITIONS);
    for (const { metadata } of items) await bare.client.delete(DEFINITIONS, { name: metadata.name });
    expect(trouble((await ask("doctor")).out)).toEqual([
      "  × kubevirt.io/v1 is not served",
      expect.stringMatching(/KubeVirt is not installed, or this is the wrong cluster: context "jane@sandbox", https/),
      expect.stringMatching(/lifeboat doctor --context NAME; to install KubeVirt: https/),
    ]);
    expect((await ask("explain node node01")).err[0]).toMatch(
      /does not serve KubeVirt's kinds .*: is KubeVirt installed/,
    );
  });
});

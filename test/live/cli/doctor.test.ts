/** Tests `lifeboat doctor` on healthy and broken clusters with Lifeboat's shipped manifests. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import {
  type Credentials,
  kubeVirts,
  KUBEVIRT,
  type Resource,
  type Sandbox,
  startSandbox,
  waitFor,
} from "../../../infra/sandbox/index.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";
import { type Stage, startStage } from "../stage.ts";
import { createVm } from "../vm.ts";

const Token = z.object({ status: z.object({ token: z.string() }) });
const DEFINITIONS: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ ticking: false, configuration: { evacuation: { backoffSeconds: 20 } } });
  const body = { spec: { configuration: { evictionStrategy: "LiveMigrate" } } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
  // The API server calls Lifeboat's webhook for this eviction. The full scan then sets WebhookCalled to True.
  await (await createVm(stage, "web")).evict({ deleteOptions: { dryRun: ["All"] } });
  await stage.reconcile();
  await waitFor(stage.client, {
    resource: lifeboatConfigurations,
    key: { name: "lifeboat" },
    what: "reported on, with nothing wrong",
    until: ({ metadata, status }) => {
      const reported = status?.conditions ?? [];
      const isAbout = (one: Readonly<Record<string, unknown>>) => one["observedGeneration"] === metadata.generation;
      return reported.length === 5 && reported.every((one) => one["status"] === "True" && isAbout(one));
    },
  });
});
afterAll(() => stage.stop());

const doctor = () => lifeboat("doctor", { kubeconfig: stage.sandbox.kubeconfig });

const steady = (lines: readonly string[]) =>
  lines.map((line) =>
    line
      .replaceAll(/virt-launcher-web-\w+/g, "POD")
      .replaceAll(/lifeboat-token-\w+/g, "SECRET")
      .replaceAll(/\b\d+[smh]( old)?$/g, "AGE$1"),
  );

test("given a healthy installation, the doctor prints every check and exits with 0", async () => {
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
    "  √ condition Valid is True (Valid) for AGE",
    "  √ condition Permitted is True (Granted) for AGE",
    "  √ condition WebhookCalled is True (Called) for AGE",
    "  √ condition ReviewsDecided is True (Decided) for AGE",
    "  √ the permissions of rbac.yaml are granted",
    "  √ the guard is off",
    "  √ the maintenance component is not installed: nobody can drain with Lifeboat",
    "  √ a dry-run eviction of pod vms/POD is answered by Lifeboat",
    "",
    "Relay",
    "  √ there is no relay, and no enabled feature needs a relay",
    "",
    "Credentials",
    "  √ Lifeboat's token in Secret SECRET is AGE old",
    "  √ condition CredentialsValid is True (Valid) for AGE",
    "",
    "√ all 17 checks passed",
  ]);
  expect({ code, err }).toEqual({ code: 0, err: [] });
});

test("given a user without permissions, each check names its missing permission, and the exit code is 4", async () => {
  const { client, sandbox } = stage;
  const path = "/api/v1/namespaces/default/serviceaccounts";
  await client.raw({ method: "POST", path, body: { metadata: { name: "nobody" } } });
  const request = { method: "POST", path: `${path}/nobody/token`, body: { spec: {} } } as const;
  const { token } = Token.parse((await client.raw(request)).body).status;
  const { url, caPem } = sandbox;
  const { code, out } = await lifeboat("doctor", { kubeconfig: { url, caPem, user: "jane", token } });
  const text = out.join("\n");
  expect(text).toMatch(
    / {2}‼ the KubeVirt object could not be read\n {6}you are not allowed to do this: kubevirts\.kubevirt\.io is forbidden: .*\n {6}ask an administrator of the cluster to grant the permission, or to run lifeboat doctor\n/,
  );
  expect([code, text.includes("×")]).toEqual([4, false]);
});

test("given a stopped Worker, the doctor says that only KubeVirt's webhook answers and why, and exits with 3", async ({
  onTestFinished,
}) => {
  await stage.stopWorker();
  onTestFinished(() => stage.restartWorker());
  const { code, out } = await doctor();
  expect([code, steady(out).join("\n")]).toEqual([
    3,
    expect.stringMatching(
      / {2}× a dry-run eviction of pod vms\/POD is not answered by Lifeboat\n {6}429: .*\n {6}only webhook virt-launcher-eviction-interceptor\.kubevirt\.io has refused the eviction\. failurePolicy Ignore hides errors of Lifeboat's webhook\. Possible causes:\n {6}the API server does not reach Lifeboat [^]* {6}curl https:\/\/\S+\/healthz, on a host of the API server/,
    ),
  ]);
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
    ["no API server answers",               { url: "https://127.0.0.1:2" }, /cannot be reached: connect ECONNREFUSED/],
    ["the credentials have expired",     { token: "old" },               /does not accept your credentials/],
  ])("given that %s, the doctor and every other command exit with an error about the cluster", async (_, tweak, said) => {
    const { code, out } = await ask("doctor", tweak);
    expect([code, out.join("\n")]).toEqual([3, expect.stringMatching(/× the command cannot read from the API server/)]);
    const other = await ask("explain node node01", tweak);
    expect([other.code, ...other.err]).toEqual([1, expect.stringMatching(said), expect.stringMatching(/^\(context "jane@sandbox", https:/)]);
  });

  test("given a cluster without Lifeboat, or without KubeVirt, the doctor says what to install and exits with 3", async () => {
    const alone = await ask("doctor");
    expect([alone.code, alone.out.join("\n")]).toEqual([
      3,
      expect.stringMatching(/× Lifeboat is not installed in this cluster\n.*\n.*lifeboat install --in-cluster, or/),
    ]);
    expect((await ask("status")).err[0]).toMatch(
      /does not have Lifeboat's custom resource definitions .*: run lifeboat install/,
    );
    const { items } = await bare.client.list(DEFINITIONS);
    for (const { metadata } of items) await bare.client.delete(DEFINITIONS, { name: metadata.name });
    expect((await ask("doctor")).out.join("\n")).toMatch(
      /× kubevirt\.io\/v1 is not served\n.*KubeVirt is not installed, or this is the wrong cluster: context "jane@sandbox", https.*\n.*lifeboat doctor --context NAME; to install KubeVirt: https/,
    );
    expect((await ask("explain node node01")).err[0]).toMatch(
      /does not have KubeVirt's custom resource definitions .*: install KubeVirt/,
    );
  });
});

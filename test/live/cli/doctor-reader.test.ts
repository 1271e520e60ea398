/** `lifeboat doctor` for those who may not see everything, and on clusters that are not Lifeboat's. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { createAuthority } from "../../../infra/sandbox/certificates.ts";
import { type Credentials, kubeconfigText } from "../../../infra/sandbox/kubeconfig.ts";
import { type Sandbox, startSandbox } from "../../../infra/sandbox/sandbox.ts";
import type { Stage } from "../stage.ts";
import { DEFINITIONS, startHealthyStage, trouble } from "./doctor-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let stage: Stage;
/** No Lifeboat, and in the end no KubeVirt. */
let bare: Sandbox;
beforeAll(async () => {
  [stage, bare] = await Promise.all([startHealthyStage(), startSandbox({ empty: true })]);
});
afterAll(async () => {
  await stage.stop();
  await bare.stop();
});

const doctor = (more = "", kubeconfig: string = stage.sandbox.kubeconfig) => lifeboat(`doctor ${more}`, { kubeconfig });

const Token = z.object({ status: z.object({ token: z.string() }) });

/** An account with just these permissions. */
async function kubeconfigOfAccount(name: string, rules: readonly object[]): Promise<string> {
  const { client } = stage;
  const path = "/api/v1/namespaces/default/serviceaccounts";
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const subjects = [{ kind: "ServiceAccount", name, namespace: "default" }];
  const post = (to: string, body: object) => client.raw({ method: "POST", path: to, body });
  await post(path, { metadata: { name } });
  await post(`${rbac}/clusterroles`, { metadata: { name }, rules });
  await post(`${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
  const { token } = Token.parse((await post(`${path}/${name}/token`, { spec: {} })).body).status;
  return kubeconfigOf(stage.sandbox, { token });
}

function kubeconfigOf({ url, caPem, adminToken }: Sandbox, tweak: Partial<Credentials> = {}): string {
  return kubeconfigText({ url, caPem, user: "jane", token: adminToken, ...tweak });
}

describe("the reader", () => {
  test("who may do nothing: what to ask for, below each check; exit code 4", async () => {
    const { code, out } = await doctor("", await kubeconfigOfAccount("nobody", []));
    const text = out.join("\n");
    expect(text).toMatch(
      / {2}‼ the KubeVirt object could not be read\n {6}you are not allowed to do this: kubevirts\.kubevirt\.io is forbidden: .*\n {6}ask an administrator of the cluster for the permission, or to run lifeboat doctor\n/,
    );
    expect(text).toMatch(/secrets is forbidden: .* in the namespace "lifeboat-system"\n {6}ask an administrator/);
    expect(text).not.toContain("×");
    expect(code).toBe(4);
  });

  test("-o json: the same checks, for programs", async () => {
    const { code, out } = await doctor("-o json");
    const Checks = z.object({
      status: z.string(),
      checks: z.array(z.looseObject({ group: z.string(), status: z.string() })),
    });
    const { status, checks } = Checks.parse(JSON.parse(out.join("\n")));
    expect([code, status, checks.length]).toEqual([0, "ok", 17]);
    expect(checks[0]).toEqual({ group: "Kubernetes", status: "ok", message: "the API server is 1.36.2 (needs 1.33)" });
  });
});

describe("another cluster", () => {
  // prettier-ignore
  test.each<[string, () => string | Promise<string>, readonly RegExp[]]>([
    ["nothing there",         () => kubeconfigOf(bare, { url: "https://127.0.0.1:2" }), [/× the API server cannot be asked/, /cannot be reached: connect ECONNREFUSED/, /context "jane@sandbox", https:/, /kubectl config get-contexts; lifeboat doctor --context NAME/]],
    ["another authority's",   async () => kubeconfigOf(bare, { caPem: (await createAuthority("another")).caPem }), [/× the API server cannot be asked/, /cannot be reached: .*certificate/, /context/, /get-contexts/]],
    ["credentials have ended", () => kubeconfigOf(bare, { token: "old" }), [/× the API server cannot be asked/, /does not accept your credentials/, /context/, /get-contexts/]],
    ["KubeVirt alone",        () => kubeconfigOf(bare), [/× there is no KubeVirt object/, /operator/, /kubevirt\.io/, /KubeVirt's own eviction webhook .* is missing/, /only Lifeboat/, /virt-operator/, /× Lifeboat is not installed in this cluster/, /neither its kinds nor its webhook: context "jane@sandbox"/, /lifeboat install --in-cluster, or lifeboat install --worker URL/]],
  ])("%s", async (_, kubeconfig, expected) => {
    const { code, out } = await doctor("", await kubeconfig());
    expect(trouble(out)).toEqual(expected.map((one) => expect.stringMatching(one)));
    expect(code).toBe(3);
  });

  test("the wrong context: neither KubeVirt nor Lifeboat, said once", async () => {
    const { items } = await bare.client.list(DEFINITIONS);
    for (const { metadata } of items) await bare.client.delete(DEFINITIONS, { name: metadata.name });
    const { code, out } = await doctor("", kubeconfigOf(bare));
    expect(trouble(out)).toEqual([
      "  × kubevirt.io/v1 is not served",
      expect.stringMatching(/KubeVirt is not installed, or this is the wrong cluster: context "jane@sandbox", https/),
      expect.stringMatching(/lifeboat doctor --context NAME; to install KubeVirt: https/),
    ]);
    expect(code).toBe(3);
  });
});

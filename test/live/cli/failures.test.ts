/** A cluster that cannot answer: what the command says then, and what it tells the person to do. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { createAuthority } from "../../../infra/sandbox/certificates.ts";
import { type Credentials, kubeconfigText } from "../../../infra/sandbox/kubeconfig.ts";
import { type Sandbox, startSandbox } from "../../../infra/sandbox/sandbox.ts";
import { type Stage, startStage } from "../stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

const Token = z.object({ status: z.object({ token: z.string() }) });

let stage: Stage;
/** No KubeVirt, no Lifeboat. */
let bare: Sandbox;

beforeAll(async () => {
  stage = await startStage({ ticking: false, nodes: ["node01"] });
  bare = await startSandbox({ empty: true });
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await bare.client.raw({ method: "DELETE", path: `${crds}/kubevirts.kubevirt.io` });
});
afterAll(async () => {
  await stage.stop();
  await bare.stop();
});

function kubeconfigOf({ url, caPem, adminToken }: Sandbox, tweak: Partial<Credentials> = {}): string {
  return kubeconfigText({ url, caPem, user: "jane", token: adminToken, ...tweak });
}

/** An account without any role. */
async function nobodysToken(): Promise<string> {
  const path = "/api/v1/namespaces/default/serviceaccounts";
  await stage.client.raw({ method: "POST", path, body: { metadata: { name: "nobody" } } });
  const request = { method: "POST", path: `${path}/nobody/token`, body: { spec: {} } } as const;
  return Token.parse((await stage.client.raw(request)).body).status.token;
}

// prettier-ignore
test.each<[string, string, () => string | Promise<string>, RegExp]>([
  ["credentials that have ended", "explain node node01",   () => kubeconfigOf(stage.sandbox, { token: "old" }),                     /does not accept your credentials: log in again, or choose another --context/],
  ["no permission",               "explain node node01",   async () => kubeconfigOf(stage.sandbox, { token: await nobodysToken() }), /you are not allowed to do this: .*User "system:serviceaccount:default:nobody" cannot list/],
  ["no KubeVirt",                 "explain node node01",   () => kubeconfigOf(bare),                                                /does not serve KubeVirt's kinds .*: is KubeVirt installed/],
  ["no Lifeboat",                 "evacuate web",          () => kubeconfigOf(bare),                                                /does not serve Lifeboat's kinds .*: lifeboat install brings them/],
  ["another authority's",         "cancel web",            async () => kubeconfigOf(bare, { caPem: (await createAuthority("another")).caPem }), /cannot be reached: .*certificate/],
  ["nothing there",               "cancel web",            () => kubeconfigOf(bare, { url: "https://127.0.0.1:2" }),                /cannot be reached: connect ECONNREFUSED/],
])("%s: lifeboat %s says so, and which cluster it asked", async (_, line, kubeconfig, message) => {
  const { code, out, err } = await lifeboat(line, { kubeconfig: await kubeconfig() });
  expect({ code, out }).toEqual({ code: 1, out: [] });
  expect(err[0]).toMatch(message);
  expect(err[1]).toMatch(/^\(context "jane@sandbox", https:\/\/127\.0\.0\.1:\d+\)$/);
});

/** Tests users who sign in with their own tokens. The API server knows their names and permissions. */
import * as z from "zod/mini";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterRoles, core, type Resource, serviceAccounts } from "../../../infra/sandbox/index.ts";
import { arrive, words } from "./support/visitor.ts";
import { entry } from "../../support/app.ts";
import { type Installed, startInstalled } from "../../support/installed/in-cluster.ts";

const RBAC = "rbac.authorization.k8s.io";
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });
const bindings: Resource = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

/** Lists permissions. Each permission contains the group, the resource and the verb. */
type Rights = readonly string[];
const MAY_VIEW: Rights = [
  "lifeboat.dev evacuations list",
  "lifeboat.dev nodeevacuations list",
  "lifeboat.dev rollingmaintenances list",
  " nodes list",
  " pods list",
  "kubevirt.io virtualmachineinstances list",
];
const NAMESPACE = "default";
let installed: Installed;
let lifeboats: string;
beforeAll(async () => {
  installed = await startInstalled(["optional/maintenance/maintenance.yaml"]);
  await installed.sandbox.client.create(core.nodes, { metadata: { name: "node01" } });
  lifeboats = await tokenOf("lifeboat-system", "lifeboat", { audiences: [] });
});
afterAll(() => installed.sandbox.stop());

async function tokenOf(namespace: string, name: string, tweak: object = {}): Promise<string> {
  const key = { namespace, name };
  const spec = { audiences: ["lifeboat"], ...tweak };
  return TokenRequest.parse(await installed.sandbox.client.post(serviceAccounts, key, "token", { spec })).status.token;
}

/** Reverses the signature. A change of only the last character could decode to the same bytes. */
function withAnotherSignature(token: string): string {
  return token.replace(/[^.]+$/, (signature) => signature.split("").toReversed().join(""));
}

let accounts = 0;

async function account(rights: Rights = []): Promise<string> {
  const { client } = installed.sandbox;
  const name = `visitor-${++accounts}`;
  await client.create(serviceAccounts, { metadata: { namespace: NAMESPACE, name } });
  const rules = rights.map((right) => {
    const [group = "", resource = "", verb = ""] = right.split(" ");
    return { apiGroups: [group], resources: [resource], verbs: [verb] };
  });
  await client.create(clusterRoles, { metadata: { name }, rules });
  await bind(name, name);
  return name;
}

async function bind(account: string, role: string): Promise<void> {
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: NAMESPACE }];
  const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: role };
  const binding = { metadata: { name: `${account}-${role}` }, roleRef, subjects };
  await installed.sandbox.client.create(bindings, binding);
}

function visitor(token = lifeboats) {
  const { operatorToken, webhookToken } = entry("");
  const local = { server: installed.sandbox.url, token, operatorToken, webhookToken };
  return arrive({ env: { CLUSTERS: { local } }, start: new Date() });
}

describe("a token of a service account", () => {
  test("that may list everything on the pages opens the page", async () => {
    const answer = await visitor().post("/signin", { token: await tokenOf(NAMESPACE, await account(MAY_VIEW)) });
    expect(answer.code).toBe(303);
  });

  test.each(MAY_VIEW)("that may list everything except %s is refused", async (missing) => {
    const name = await account(MAY_VIEW.filter((right) => right !== missing));
    const answer = await visitor().post("/signin", { token: await tokenOf(NAMESPACE, name) });
    expect(answer.code).toBe(403);
    expect(words(answer.text)).toContain(`system:serviceaccount:default:${name}`);
  });

  test("with the shipped role opens the page", async () => {
    const [name, one] = [await account(), visitor()];
    const signIn = async () => (await one.post("/signin", { token: await tokenOf(NAMESPACE, name) })).code;
    expect(await signIn()).toBe(403);
    await bind(name, "lifeboat-page");
    expect(await signIn()).toBe(303);
    expect((await one.get("/fleet/local")).code).toBe(200);
  });

  // prettier-ignore
  test.each<readonly [string, () => Promise<string>]>([
    ["for another audience",                       async () => tokenOf(NAMESPACE, await account(MAY_VIEW), { audiences: ["vault"] })],
    ["with another signature",                     async () => withAnotherSignature(await tokenOf(NAMESPACE, await account(MAY_VIEW)))],
    ["that is not a token",                        async () => "a.b.c"],
  ])("%s is refused", async (_, token) => {
    expect((await visitor().post("/signin", { token: await token() })).code).toBe(401);
  });
});

/** Users of the cluster who sign in with their own tokens: the API server says who they are, and what they may. */
import * as z from "zod/mini";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterRoles, core, type Resource, serviceAccounts } from "../../../infra/sandbox/index.ts";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { arrive, words } from "./support/visitor.ts";
import { entry } from "../../support/doors.ts";
import { type Installed, startInstalled } from "../../support/server/installed.ts";

const RBAC = "rbac.authorization.k8s.io";
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });
const bindings: Resource = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

/** Group, resource, verb. */
type Rights = readonly string[];
const LOOK: Rights = [
  "lifeboat.dev evacuations list",
  " nodes list",
  " pods list",
  "kubevirt.io virtualmachineinstances list",
];
const ACT: Rights = ["lifeboat.dev evacuations create", "lifeboat.dev evacuations patch"];

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

/** The last character alone may say no more than the one before it. */
function withAnotherSignature(token: string): string {
  return token.replace(/[^.]+$/, (signature) => signature.split("").toReversed().join(""));
}

let accounts = 0;

/** A service account with these rights in the whole cluster. */
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

const mayAct = async (one: ReturnType<typeof visitor>) =>
  (await one.post("/fleet/local/vms/apps/web/cancel", {})).code !== 403;

describe("a service account's token", () => {
  // prettier-ignore
  test.each<readonly [string, Rights, code: number, acts: boolean]>([
    ["who may list what the pages show",     LOOK,                              303, false],
    ["… and create and patch evacuations",   [...LOOK, ...ACT],                 303, true],
    ["… no evacuations",                     [...LOOK.slice(1), ...ACT],        403, false],
  ])("of one %s", async (...[, rights, code, acts]) => {
    const name = await account(rights);
    const one = visitor();
    const answer = await one.post("/signin", { token: await tokenOf(NAMESPACE, name) });
    expect(answer.code).toBe(code);
    if (code === 403) expect(words(answer.text)).toContain(`system:serviceaccount:default:${name}`);
    if (code === 303) expect(await mayAct(one)).toBe(acts);
  });

  test("of an account with the roles that are shipped for it", async () => {
    const [name, one] = [await account(), visitor()];
    const signIn = async () => (await one.post("/signin", { token: await tokenOf(NAMESPACE, name) })).code;
    expect(await signIn()).toBe(403);
    await bind(name, "lifeboat-page");
    expect([await signIn(), await mayAct(one)]).toEqual([303, false]);
    await bind(name, "lifeboat-operator");
    expect([await signIn(), await mayAct(one)]).toEqual([303, true]);
  });

  const EMPTY: Rights = [
    ...LOOK,
    ...["list", "create", "patch"].map((verb) => `lifeboat.dev nodeevacuations ${verb}`),
    " nodes patch",
    " pods/eviction create",
    ...["restart", "stop"].map((verb) => `subresources.kubevirt.io virtualmachines/${verb} update`),
  ];
  const without = (right: string) => EMPTY.filter((one) => !one.includes(right));

  // prettier-ignore
  test.each<readonly [string, Rights, whenBlocked: string, code: number]>([
    ["who may do what a NodeEvacuation does",  EMPTY,                              "Restart",   303],
    ["… create none",                          without("nodeevacuations create"),  "Wait",      403],
    ["… change none",                          without("nodeevacuations patch"),   "Wait",      403],
    ["… cordon no node",                       without(" nodes patch"),            "Wait",      403],
    ["… evict no pod",                         without("pods/eviction"),           "Wait",      403],
    ["… restart no VM",                        without("restart"),                 "Restart",   403],
    ["… restart no VM, nor asks to",           without("restart"),                 "ShutDown",  303],
    ["… stop no VM",                           without("stop"),                    "ShutDown",  403],
  ])("of one %s: a node is emptied by the page only for who may empty it", async (...[, rights, whenBlocked, code]) => {
    const one = visitor();
    await one.post("/signin", { token: await tokenOf(NAMESPACE, await account(rights)) });
    const answer = await one.post("/fleet/local/nodes/node01/empty", { whenBlocked });
    expect(answer.code).toBe(code);
    const { items } = await installed.sandbox.client.list(nodeEvacuations);
    expect(items.map(({ spec }) => spec.nodeName)).toEqual(code === 303 ? ["node01"] : []);
    for (const { metadata, spec } of items) {
      expect(spec).toMatchObject({ virtualMachines: { whenBlocked } });
      // The node was empty.
      await installed.sandbox.client.delete(nodeEvacuations, metadata);
    }
  });

  // prettier-ignore
  test.each<readonly [string, () => Promise<string>]>([
    ["for another audience",                     async () => tokenOf(NAMESPACE, await account(LOOK), { audiences: ["vault"] })],
    ["changed",                                  async () => withAnotherSignature(await tokenOf(NAMESPACE, await account(LOOK)))],
    ["of no account",                            async () => "a.b.c"],
  ])("%s does not open", async (_, token) => {
    expect((await visitor().post("/signin", { token: await token() })).code).toBe(401);
  });
});

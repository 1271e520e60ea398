/** What stops without each permission that the server has of its own. The relay's: test/relay/permissions.test.ts. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { createSteppedClock } from "../../infra/sandbox/actors/clock.ts";
import { type Resource, secrets } from "../../infra/sandbox/actors/resources.ts";
import { look } from "../../infra/server/certificate/keeper.ts";
import { Leadership } from "../../infra/server/leadership.ts";
import { SERVER } from "../../infra/tools/in-cluster.ts";
import { type Installed, startInstalled } from "./sender.ts";

let installed: Installed;
beforeAll(async () => {
  installed = await startInstalled();
});
afterAll(() => installed.sandbox.stop());

const rbac = (kind: string, namespaced: boolean): Resource => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
});
const ROLES = { Role: rbac("Role", true), ClusterRole: rbac("ClusterRole", false) };
const Role = z.object({
  rules: z.array(z.looseObject({ resources: z.array(z.string()), verbs: z.array(z.string()) })),
});

const clock = createSteppedClock();

/** Its first start, until there is nothing to do for now. */
async function keep(): Promise<void> {
  const options = { cluster: "local", send: () => installed.send, clock, onFailure: () => undefined };
  while ((await look({ ...options, use: () => undefined })) === 0);
}

async function lead(): Promise<void> {
  const leadership = new Leadership({ identity: "a", send: () => installed.send, clock, onFailure: () => undefined });
  await leadership.look();
}

// prettier-ignore
test.each<[keyof typeof ROLES, string, string, () => Promise<void>]>([
  // role         verb     of                                 without it there is no
  ["Role",        "get",   "secrets",                         keep],
  ["Role",        "patch", "secrets",                         keep],
  ["ClusterRole", "patch", "validatingwebhookconfigurations", keep],
  ["Role",        "get",   "leases",                          lead],
  ["Role",        "patch", "leases",                          lead],
])("%s: without %s of %s it is refused, with it is not", async (kind, verb, resource, work) => {
  const { client } = installed.sandbox;
  const { name, namespace } = SERVER;
  const key = kind === "Role" ? { name, namespace } : { name };
  const { rules } = Role.parse(await client.get(ROLES[kind], key));
  const without = rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule,
  );
  const grant = (body: unknown) => client.patch(ROLES[kind], key, { type: "merge", body: { rules: body } });
  await client.patch(secrets, SERVER, { type: "merge", body: { data: null } });
  await grant(without.filter(({ verbs }) => verbs.length > 0));
  await expect(work()).rejects.toMatchObject({ failure: { reason: "Refused", code: 403 } });
  await grant(rules);
  await work();
});

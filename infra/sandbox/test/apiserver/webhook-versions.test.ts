/** A webhook that names one version of a custom kind, and requests in another. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Hook, NAME, SERVING, type Respond, configuration } from "./webhook.ts";
import { valueAt } from "../contract/value-at.ts";
import { type Started, start } from "./started.ts";

const GROUP = "things.example.com";
const hook = new Hook();
let started: Started;

beforeAll(async () => {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = ["v1", "v1alpha3"].map((name) => ({ name, served: true, storage: name === "v1", schema }));
  const names = { kind: "Thing", listKind: "ThingList", plural: "things", singular: "thing" };
  started = await start();
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${GROUP}` },
    spec: { group: GROUP, scope: "Namespaced", names, versions },
  };
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await started.admin.send({ method: "POST", path, body: definition });
  const served = () => started.admin.send({ method: "GET", path: `/apis/${GROUP}/v1` });
  await vi.waitFor(async () => expect((await served()).code).toBe(200));
  await hook.start();
});
afterAll(async () => {
  hook.stop();
  await started.stop();
});

const thing = (version: string) => ({ apiVersion: `${GROUP}/${version}`, kind: "Thing", metadata: { name: "t" } });
const create = (version: string) =>
  started.admin.send({
    method: "POST",
    path: `/apis/${GROUP}/${version}/namespaces/default/things?dryRun=All`,
    body: thing(version),
  });

async function configure(kind: "Validating" | "Mutating", versions: readonly string[], more: object = {}) {
  const plural = `${SERVING}/${kind.toLowerCase()}webhookconfigurations`;
  await started.admin.send({ method: "DELETE", path: `${plural}/default` });
  const rule = { operations: ["CREATE"], apiGroups: [GROUP], apiVersions: versions, resources: ["things"] };
  const body = configuration(hook, { kind, namespace: "default", rule, ...more });
  const { code, text } = await started.admin.send({ method: "POST", path: plural, body });
  expect(code, text).toBe(201);
}

const adds: Respond = (uid) => ({
  uid,
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify([{ op: "add", path: "/metadata/labels", value: { by: NAME } }])).toString("base64"),
});

beforeEach(() => {
  hook.calls.length = 0;
});

// prettier-ignore
test.each([
  // asked for              policy        the request is in   the webhook sees
  [["v1"],                  "Equivalent", "v1alpha3",         "v1"],
  [["v1"],                  "Exact",      "v1alpha3",         undefined],
  [["v1"],                  "Equivalent", "v1",               "v1"],
  [["v1", "v1alpha3"],      "Equivalent", "v1alpha3",         "v1alpha3"],
  [["*"],                   "Equivalent", "v1alpha3",         "v1alpha3"],
  [["v2"],                  "Equivalent", "v1",               undefined],
] as const)("%j, %s: a %s is seen as %s", async (versions, matchPolicy, version, seen) => {
  await configure("Validating", versions, { matchPolicy });
  expect((await create(version)).code).toBe(201);
  const [call] = hook.calls;
  expect(valueAt(call?.request, "kind.version")).toBe(seen);
  expect(valueAt(call?.request, "resource.version")).toBe(seen);
  expect(valueAt(call?.request, "object.apiVersion")).toBe(seen && `${GROUP}/${seen}`);
  expect(valueAt(call?.request, "requestKind.version")).toBe(seen && version);
});

test("what it changes in its version comes back in that of the request", async () => {
  await configure("Mutating", ["v1"]);
  hook.respond = adds;
  const { body } = await create("v1alpha3");
  expect(body).toMatchObject({ apiVersion: `${GROUP}/v1alpha3`, metadata: { labels: { by: NAME } } });
});

/** Tests webhooks for one version of a custom kind, with requests in another version. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { envelope, Hook } from "../contract/hook.ts";
import { configure, NAME, REVIEW } from "./webhook.ts";
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

const rulesOf = (apiVersions: readonly string[]) => [
  { operations: ["CREATE"], apiGroups: [GROUP], apiVersions, resources: ["things"] },
];

// prettier-ignore
test.each([
  // asked for              policy        the request is in   the webhook sees
  [["v1"],                  "Equivalent", "v1alpha3",         "v1"],
  [["v1"],                  "Exact",      "v1alpha3",         undefined],
  [["v1"],                  "Equivalent", "v1",               "v1"],
  [["v1", "v1alpha3"],      "Equivalent", "v1alpha3",         "v1alpha3"],
  [["*"],                   "Equivalent", "v1alpha3",         "v1alpha3"],
  [["v2"],                  "Equivalent", "v1",               undefined],
] as const)("a webhook for the versions %j with matchPolicy %s: of an object written as %s, it gets the version %s", async (versions, matchPolicy, version, seen) => {
  hook.calls.length = 0;
  await configure(started, hook, { rules: rulesOf(versions), matchPolicy });
  expect((await create(version)).code).toBe(201);
  const [call] = hook.calls;
  expect(valueAt(call, "kind.version")).toBe(seen);
  expect(valueAt(call, "resource.version")).toBe(seen);
  expect(valueAt(call, "object.apiVersion")).toBe(seen && `${GROUP}/${seen}`);
  expect(valueAt(call, "requestKind.version")).toBe(seen && version);
});

test("a webhook's change to a converted object is converted back to the request's version", async () => {
  await configure(started, hook, { kind: "Mutating", rules: rulesOf(["v1"]) });
  const patch = btoa(JSON.stringify([{ op: "add", path: "/metadata/labels", value: { by: NAME } }]));
  const response = { uid: "<review>", allowed: true, patchType: "JSONPatch", patch };
  hook.replies = { [REVIEW]: { body: envelope(JSON.stringify(response)) } };
  const { body } = await create("v1alpha3");
  expect(body).toMatchObject({ apiVersion: `${GROUP}/v1alpha3`, metadata: { labels: { by: NAME } } });
});

/** Tests that the manifest of an object may precede the manifest of its CustomResourceDefinition. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyManifests } from "../manifests.ts";
import { type Sandbox, startSandbox } from "../sandbox.ts";

let sandbox: Sandbox;
beforeAll(async () => void (sandbox = await startSandbox({ empty: true })));
afterAll(() => sandbox.stop());

const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "moves.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Move", plural: "moves" },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  },
};

test.each(["Move", "Withdrawn"])("an object with the intent %s may precede its definition", async (intent) => {
  const metadata = { namespace: "default", name: "m" };
  const move = { apiVersion: "example.com/v1", kind: "Move", metadata, spec: { intent } };
  await applyManifests(sandbox.client, [move, definition]);
  const path = "/apis/example.com/v1/namespaces/default/moves/m";
  expect(await sandbox.client.read(path)).toMatchObject({ spec: { intent } });
});

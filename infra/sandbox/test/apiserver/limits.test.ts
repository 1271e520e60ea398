/** The sandbox refuses, with a message, what it does not implement. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Started, start } from "./started.ts";

let started: Started;
beforeAll(async () => {
  started = await start();
});
afterAll(() => started.stop());

test.each(["pods/p/log", "pods/p/exec", "pods/p/portforward", "pods/p/attach", "pods/p/proxy/metrics"])(
  "%s needs a kubelet",
  async (place) => {
    const { body } = await started.admin.send({ method: "GET", path: `/api/v1/namespaces/default/${place}` });
    const subresource = place.split("/")[2];
    expect(body).toMatchObject({ code: 501, message: `not supported by this API server: pods/${subresource}` });
  },
);

test("custom kinds whose versions differ", async () => {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const body = {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Thing", plural: "things" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      conversion: { strategy: "Webhook" },
    },
  };
  const answer = await started.admin.send({ method: "POST", path, body });
  expect(answer.body.message).toMatch(
    /spec\.conversion\.strategy: Unsupported value: "Webhook": supported values: "None"$/,
  );
});

test("protobuf of a kind that no stock client sends this way", async () => {
  const path = "/api/v1/namespaces/default/pods";
  const envelope = Buffer.from("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00", "latin1").toString("latin1");
  const { code, body } = await started.admin.send({
    method: "POST",
    path,
    type: "application/vnd.kubernetes.protobuf",
    body: envelope,
  });
  expect({ code, message: body.message }).toEqual({
    code: 415,
    message: "Pod is not supported in protobuf here - accepted media types include: application/json, application/yaml",
  });
});

test("a body beyond 3 MiB", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  const { body } = await started.admin.send({
    method: "POST",
    path,
    body: { data: { a: "x".repeat(4 * 1024 * 1024) } },
  });
  expect(body).toMatchObject({ code: 413, reason: "RequestEntityTooLarge" });
});

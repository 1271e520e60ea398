/** Mutating webhooks with reinvocationPolicy IfNeeded. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Started, start } from "./started.ts";

const BASE = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

let started: Started;
const asked: string[] = [];
let stopHook = (): void => {};
let url = "";

/** Each path is a webhook that sets the data key of its name to the number of its calls. */
beforeAll(async () => {
  started = await start();
  const { certPem, keyPem } = await started.authority.issue(["127.0.0.1"]);
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    const name = (incoming.url ?? "").split(/[/?]/)[1] ?? "";
    asked.push(name);
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { request }: { request: { uid: string } } = JSON.parse(Buffer.concat(chunks).toString());
      const times = asked.filter((one) => one === name).length;
      const patch = [{ op: "add", path: `/data/${name}`, value: String(times) }];
      const response = {
        uid: request.uid,
        allowed: true,
        patchType: "JSONPatch",
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      };
      outgoing.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address: AddressInfo | string | null = server.address();
  url = typeof address === "object" && address !== null ? `https://127.0.0.1:${address.port}` : "";
  stopHook = () => {
    server.close();
    server.closeAllConnections();
  };
});
afterAll(async () => {
  stopHook();
  await started.stop();
});

test("those that wish are asked once more if the object has changed since", async () => {
  const webhook = (name: string, reinvocationPolicy: string) => ({
    name: `${name}.example.com`,
    clientConfig: { url: `${url}/${name}`, caBundle: Buffer.from(started.authority.caPem).toString("base64") },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    reinvocationPolicy,
  });
  const webhooks = [webhook("wishes", "IfNeeded"), webhook("never", "Never"), webhook("last", "IfNeeded")];
  const made = await started.admin.send({ method: "POST", path: BASE, body: { metadata: { name: "w" }, webhooks } });
  expect(made.code, made.text).toBe(201);
  const path = "/api/v1/namespaces/default/configmaps";
  const { body } = await started.admin.send({ method: "POST", path, body: { metadata: { name: "c" }, data: {} } });
  expect(asked).toEqual(["wishes", "never", "last", "wishes", "last"]);
  expect(body.data).toEqual({ wishes: "2", never: "1", last: "2" });
});

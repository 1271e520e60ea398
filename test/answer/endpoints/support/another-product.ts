/** Another product that moves pods of its own when they are evicted: it refuses the eviction with the words that KEP-1397 foresees. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import * as z from "zod/mini";
import { createAuthority } from "../../../../infra/sandbox/certificates.ts";
import type { KubeClient } from "../../../../infra/sandbox/actors/client.ts";
import type { KubeObject, Resource } from "../../../../infra/sandbox/actors/resources.ts";

export interface AnotherProduct {
  /** Names of pods, in order. */
  readonly asked: readonly string[];
  stop(): void;
}

const WEBHOOK_CONFIGURATIONS: Resource<KubeObject & { readonly webhooks: readonly object[] }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

const Review = z.object({ request: z.object({ uid: z.string(), name: z.string() }) });

export async function startAnotherProduct(client: KubeClient): Promise<AnotherProduct> {
  const asked: string[] = [];
  const authority = await createAuthority("another-product");
  const { certPem, keyPem } = await authority.issue(["127.0.0.1"]);
  const server = createServer({ cert: certPem, key: keyPem }, (request, answer) => void review(request, answer));
  const review = async (request: IncomingMessage, answer: ServerResponse) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    const { uid, name } = z.parse(Review, JSON.parse(body)).request;
    asked.push(name);
    const status = { code: 429, message: `Eviction triggered the relocation of ${name}` };
    const response = { uid, allowed: false, status };
    answer.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response }));
  };
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const webhook = {
    name: "evictions.another-product.example",
    clientConfig: {
      url: `https://127.0.0.1:${port}/`,
      caBundle: Buffer.from(authority.caPem).toString("base64"),
    },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
  };
  await client.create(WEBHOOK_CONFIGURATIONS, { metadata: { name: "another-product" }, webhooks: [webhook] });
  return {
    asked,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * Simulates another client that evicts pods in background. Its webhook starts to move a pod, and refuses the eviction.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { json } from "node:stream/consumers";
import * as z from "zod/mini";
import {
  type core,
  createAuthority,
  type KubeClient,
  namespaces,
  pods,
  type Resource,
} from "../../infra/sandbox/index.ts";

const CONFIGURATIONS: Resource<core.KubeObject & { readonly webhooks: readonly object[] }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

const Review = z.looseObject({
  request: z.object({ uid: z.string(), name: z.string(), dryRun: z.optional(z.boolean()) }),
});
type Request = z.output<typeof Review>["request"];

export interface Asked {
  readonly pod: string;
  readonly at: number;
}

export interface Mover {
  readonly asked: Asked[];
  /** Called for each eviction. A test sets a function that starts to move the pod. */
  starts: (pod: string) => void;
  stop(): Promise<void>;
}

/** Creates the namespace, and starts a webhook that reviews all evictions in the namespace. */
export async function startMover(client: KubeClient, namespace: string): Promise<Mover> {
  await client.create(namespaces, { metadata: { name: namespace } });
  const authority = await createAuthority("mover");
  const mover = { asked: [] as Asked[], starts: () => undefined };
  const server = createServer(await authority.issue(["127.0.0.1"]).then(asPem), (incoming, outgoing) => {
    json(incoming).then(
      (body) => outgoing.end(JSON.stringify(answerTo(body, mover))),
      () => outgoing.destroy(),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const site = { url: urlOf(server), caBundle: Buffer.from(authority.caPem).toString("base64") };
  await client.create(CONFIGURATIONS, { metadata: { name: "mover" }, webhooks: [webhookOf(namespace, site)] });
  return Object.assign(mover, {
    async stop() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  });
}

function asPem({ certPem, keyPem }: { readonly certPem: string; readonly keyPem: string }) {
  return { cert: certPem, key: keyPem };
}

function urlOf(server: Server): string {
  const address = server.address();
  return `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

function webhookOf(namespace: string, clientConfig: { readonly url: string; readonly caBundle: string }) {
  return {
    name: "mover.example.com",
    clientConfig,
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    failurePolicy: "Fail",
    sideEffects: "NoneOnDryRun",
    admissionReviewVersions: ["v1"],
  };
}

function answerTo(body: unknown, { asked, starts }: Pick<Mover, "asked" | "starts">): object {
  const { request, ...head } = Review.parse(body);
  if (request.dryRun !== true) {
    asked.push({ pod: request.name, at: Date.now() });
    starts(request.name);
  }
  return { ...head, response: refused(request) };
}

function refused({ uid, name }: Request) {
  return { uid, allowed: false, status: { code: 429, message: `Eviction triggered move of pod ${name}` } };
}

const REQUEST_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const KEEPER = { apiVersion: "example.com/v1", kind: "Keeper", name: "keeper", uid: "keeper", controller: true };

/** Creates a pod. `inProgress` adds the annotation of a pod whose move has started. */
export async function createMovable(
  client: KubeClient,
  key: { readonly namespace: string; readonly name: string },
  { nodeName, inProgress = false }: { readonly nodeName: string; readonly inProgress?: boolean },
): Promise<void> {
  const annotations = { [REQUEST_ONLY]: "", ...(inProgress && { [IN_PROGRESS]: "true" }) };
  await client.create(pods, {
    metadata: { ...key, annotations, ownerReferences: [KEEPER] },
    spec: { nodeName, containers: [{ name: "main", image: "main" }] },
  });
}

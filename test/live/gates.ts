/** Simulates a policy engine that adds a scheduling gate to target pods of migrations. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import {
  type core,
  createAuthority,
  isNotFound,
  type KubeClient,
  kubevirt,
  pods,
  type Resource,
} from "../../infra/sandbox/index.ts";

const CONFIGURATIONS: Resource<core.KubeObject & { readonly webhooks: readonly object[] }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
};
const GATES = [{ op: "add", path: "/spec/schedulingGates", value: [{ name: "example.com/wait" }] }];
const Review = z.looseObject({ request: z.looseObject({ uid: z.string() }) });
const Gated = z.object({ spec: z.object({ schedulingGates: z.optional(z.array(z.unknown())) }) });
const [CREATED_BY, JOB] = ["kubevirt.io/created-by", "kubevirt.io/migrationJobUID"];

export interface Gatekeeper {
  /** Creates a migration of the VM. Returns undefined if the target pod was refused or never appeared. */
  migrate(vmi: kubevirt.VirtualMachineInstance): Promise<GatedPod | undefined>;
  stop(): Promise<void>;
}

export interface GatedPod {
  open(): Promise<void>;
}

export async function startGatekeeper(client: KubeClient): Promise<Gatekeeper> {
  const authority = await createAuthority("gatekeeper");
  const { certPem, keyPem } = await authority.issue(["127.0.0.1"]);
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    json(incoming).then(
      (body) => outgoing.end(JSON.stringify(answerTo(body))),
      () => outgoing.destroy(),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const site = { url: urlOf(server), caBundle: Buffer.from(authority.caPem).toString("base64") };
  return {
    migrate: async (vmi) => await migrate(client, vmi, site),
    async stop() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

function urlOf(server: Server): string {
  const address = server.address();
  return `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

function answerTo(body: unknown): object {
  const { request, ...head } = Review.parse(body);
  const patch = Buffer.from(JSON.stringify(GATES)).toString("base64");
  return { ...head, response: { uid: request.uid, allowed: true, patchType: "JSONPatch", patch } };
}

interface Site {
  readonly url: string;
  readonly caBundle: string;
}

async function migrate(client: KubeClient, { metadata }: kubevirt.VirtualMachineInstance, site: Site) {
  const { namespace = "", name, uid } = metadata;
  const configuration = { name: `gate-${uid}` };
  await client.create(CONFIGURATIONS, { metadata: configuration, webhooks: [webhookOf(uid, site)] });
  try {
    const migration = { metadata: { namespace, name: `${name}-gated` }, spec: { vmiName: name } };
    await client.create(kubevirt.migrations, migration);
    return await gatedPod(client, namespace, uid);
  } catch {
    return undefined;
  } finally {
    await client.delete(CONFIGURATIONS, configuration);
  }
}

function webhookOf(uid: string, site: Site): object {
  const expressions = [
    { key: JOB, operator: "Exists" },
    { key: CREATED_BY, operator: "In", values: [uid] },
  ];
  return {
    name: "gate.example.com",
    clientConfig: site,
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
    objectSelector: { matchExpressions: expressions },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
  };
}

const TRIES = 20;

async function gatedPod(client: KubeClient, namespace: string, uid: string): Promise<GatedPod | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const { items } = await client.list(pods, namespace, { labelSelector: `${CREATED_BY}=${uid},${JOB}` });
    const gated = items.find((pod) => (Gated.safeParse(pod).data?.spec.schedulingGates ?? []).length > 0);
    if (gated !== undefined) return { open: async () => await open(client, { namespace, name: gated.metadata.name }) };
    await delay(100);
  }
  return undefined;
}

async function open(client: KubeClient, pod: { readonly namespace: string; readonly name: string }): Promise<void> {
  const body = [{ op: "remove", path: "/spec/schedulingGates" }];
  await client.patch(pods, pod, { type: "json", body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Lifeboat in the cluster: replicas behind its Service, which is played by a pod of a node of its own. */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { leases, nodes, pods, secrets, serviceAccounts, type Resource } from "../../sandbox/actors/resources.ts";
import { createNode } from "../../sandbox/fleet.ts";
import { makeCertificate } from "../../server/certificate.ts";
import { HOST } from "../../server/names.ts";
import { applyInCluster, SERVER } from "../stage/in-cluster.ts";
import type { Form } from "./form.ts";
import { startPassage } from "./passage.ts";
import { createReplicas } from "./replicas.ts";
import type { FormOptions } from "./worker-form.ts";
import { persist } from "./persist.ts";
import { WIRE } from "./wire.ts";

const NODE = "lifeboat";
const DOORS_TOKEN = "token-of-the-chaos-runs";
const ACCOUNT = { namespace: SERVER.namespace, name: "lifeboat" };
/** A review that is none gets this answer, and only if it has the webhook's token. */
const NO_REVIEW = 400;
/** A certificate is renewed when a third of its life is left. */
const LEFT = 1 / 3;
/** Requests with the old token are on their way. */
const REVOKED_AFTER_MS = 200;
const DOORS_PORT = 8443;

interface Configuration {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string; readonly service?: { readonly path?: string } };
  }[];
}
const configurations: Resource<Configuration> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

export async function startInClusterForm({ sandbox, links, optional, onLog }: FormOptions): Promise<Form> {
  const { client } = sandbox;
  const passage = await startPassage();
  await applyInCluster(client, optional);
  await createNode(client, NODE);
  const taints = [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }];
  await client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
  const { metadata } = await client.create(pods, playingReplicas());
  sandbox.network.lead(metadata.uid, DOORS_PORT, passage.port);

  /** Valid until its Secret is deleted. */
  const newToken = async () => {
    const { metadata: key } = await persist(() =>
      client.create(secrets, { metadata: { generateName: "token-", namespace: SERVER.namespace } }),
    );
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: key.name };
    const body = { spec: { boundObjectRef } };
    const answer = await persist(() => client.post(serviceAccounts, ACCOUNT, "token", body));
    return { key, text: z.parse(TokenRequest, answer).status.token };
  };
  let token = await newToken();
  const { text: watching } = await newToken();
  const replicas = createReplicas({
    sandbox,
    links,
    token: () => token.text,
    watching,
    doorsToken: DOORS_TOKEN,
    ...(onLog && { onLog }),
  });

  const problemsOf = async (name: string): Promise<readonly string[]> => {
    const [webhook] = (await client.get(configurations, { name }))?.webhooks ?? [];
    const { caBundle = "", service } = webhook?.clientConfig ?? {};
    const asked = { port: passage.port, path: service?.path ?? "", ca: Buffer.from(caBundle, "base64") };
    const answer = await post(asked).catch(String);
    return answer === NO_REVIEW ? [] : [`webhook ${name} does not lead to a replica: ${answer}`];
  };

  return {
    front: passage,
    instances: replicas,
    async begin(certificateSeconds) {
      const pair = certificateSeconds === undefined ? undefined : await endingIn(certificateSeconds);
      const texts = {
        "tls.crt": pair?.certPem,
        "tls.key": pair?.keyPem,
        webhookToken: DOORS_TOKEN,
        operatorToken: DOORS_TOKEN,
      };
      const others = { "next.crt": null, "next.key": null, "previous.crt": null };
      const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
      const body = { data: { ...others, ...data } };
      await client.patch(secrets, SERVER, { type: "merge", body });
    },
    startRelay: () => ({ stop: () => Promise.resolve() }),
    async renewToken() {
      const old = token;
      token = await newToken();
      await delay(REVOKED_AFTER_MS);
      await persist(() => client.delete(secrets, old.key));
      return true;
    },
    async problems(names) {
      const holder = (await client.get(leases, SERVER))?.spec?.holderIdentity ?? "";
      const isHeld = names.includes(holder) || holder === WIRE.stranger;
      const problems = await Promise.all(WIRE.webhookConfigurations.map(problemsOf));
      return [...(isHeld ? [] : [`no replica holds the Lease: ${holder || "nobody"} does`]), ...problems.flat()];
    },
    async stop() {
      await replicas.stop();
      await passage.stop();
    },
  };
}

/** Ready at once, as every pod whose processes are only played. */
function playingReplicas() {
  const labels = { "app.kubernetes.io/name": SERVER.name };
  const ports = [{ name: "https", containerPort: DOORS_PORT }];
  const containers = [{ name: "server", image: "registry.example.com/lifeboat", ports }];
  return { metadata: { ...SERVER, labels }, spec: { nodeName: NODE, containers } };
}

async function endingIn(seconds: number) {
  const now = Date.now();
  const life = (seconds / LEFT) * 1000;
  const notAfter = new Date(now + seconds * 1000);
  return await makeCertificate(HOST, { notBefore: new Date(notAfter.getTime() - life), notAfter });
}

/** As the API server does: it trusts the caBundle and nothing else. */
async function post(to: { readonly port: number; readonly path: string; readonly ca: Buffer }): Promise<number> {
  const options = { host: "127.0.0.1", servername: HOST, method: "POST", agent: false, ...to };
  const asked = request(options).end("{}");
  const [answer] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asked, "response"));
  answer.resume();
  return answer.statusCode ?? 0;
}

function base64(text: string | undefined): string | null {
  return text === undefined ? null : Buffer.from(text).toString("base64");
}

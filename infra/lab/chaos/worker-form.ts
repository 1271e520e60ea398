/** Lifeboat outside of the cluster: Workers behind one address, and the relay. */
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { applyLifeboat } from "../stage/apply.ts";
import { installRelay, startRelayBeside } from "../stage/relay.ts";
import type { Form } from "./form.ts";
import { startFront } from "./front.ts";
import { startInstances } from "./instances.ts";
import type { Links } from "./links.ts";

const WEBHOOK_TOKEN = "webhook-token-of-the-chaos-runs";
const RELAY_SECRET = `whsec_${Buffer.alloc(32, "relay of the chaos runs").toString("base64")}`;

export interface FormOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** Further files of infra/kubernetes. */
  readonly optional: readonly string[];
  readonly onLog?: (line: string) => void;
}

export async function startWorkerForm({ sandbox, links, optional, onLog }: FormOptions): Promise<Form> {
  const { client, authority, caPem } = sandbox;
  const front = await startFront(authority);
  const { token } = await applyLifeboat(client, { url: front.url, webhookToken: WEBHOOK_TOKEN, caPem, optional });
  const site = { authority, links, token, webhookToken: WEBHOOK_TOKEN, relaySecret: RELAY_SECRET };
  const instances = await startInstances({ ...site, ...(onLog && { onLog }) });
  const endpoint = new URL(`${front.url}/events`);
  const relayTo = { kubeConfig: await installRelay(sandbox), endpoint, secret: RELAY_SECRET, fetch };
  return {
    front,
    instances,
    begin: () => Promise.resolve(),
    startRelay: () => startRelayBeside(relayTo),
    renewToken: () => Promise.resolve(false),
    // Its address and its certificate stay.
    problems: () => Promise.resolve([]),
    async stop() {
      await instances.stop();
      await front.stop();
    },
  };
}

/** Runs the relay for a sandbox, with the service account of the relay's manifests. */
import type { KubeConfig } from "@kubernetes/client-node";
import * as z from "zod/mini";
import { manifestsIn } from "../../cli/install/manifests.ts";
import { systemClock } from "../../relay/clock.ts";
import { type Relay, type RelayOptions, startRelay } from "../../relay/relay.ts";
import { type HttpOptions, overHttp } from "../../relay/send.ts";
import { applyManifests, kubeconfigOf, type Sandbox } from "../../sandbox/index.ts";
import type { RunningWorker } from "./worker.ts";

const FILES = ["serviceaccount.yaml", "rbac.yaml"].map((file) => `relay/kubernetes/${file}`);
const ACCOUNT = "/api/v1/namespaces/lifeboat-system/serviceaccounts/lifeboat-relay";

const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

/** Applies the relay's manifests. Resolves to the relay's kubeconfig. */
export async function installRelay({ client, caPem, url }: Sandbox): Promise<KubeConfig> {
  await applyManifests(client, FILES.flatMap(manifestsIn));
  const { body } = await client.raw({ method: "POST", path: `${ACCOUNT}/token`, body: { spec: {} } });
  const { token } = z.parse(TokenRequest, body).status;
  return kubeconfigOf({ url, caPem, user: "lifeboat-relay", token });
}

export type RelayTo = Pick<RelayOptions, "kubeConfig"> & Omit<HttpOptions, "clock">;

export function startRelayBeside({ kubeConfig, ...to }: RelayTo): Relay {
  const deliver = overHttp({ ...to, clock: systemClock });
  return startRelay({ kubeConfig, deliver, clock: systemClock, random: Math.random, log: () => undefined });
}

/**
 * Returns a `fetch` that sends requests through the Worker's own `fetch`, because this process does not trust the
 * certificate of the Worker's port.
 */
export function throughWorker(worker: () => Pick<RunningWorker, "fetch">): RelayTo["fetch"] {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, headers } = request;
    const path = new URL(request.url).pathname;
    return worker().fetch(path, { method, headers: [...headers], body: await request.text() });
  };
}

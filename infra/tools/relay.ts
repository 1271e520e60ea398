/**
 * The relay beside a sandbox, under the account that its manifests give it.
 * Owns: that account and its token. Does not own: the relay (infra/relay), the way to the Worker (its callers).
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { KubeConfig } from "@kubernetes/client-node";
import { loadAll } from "js-yaml";
import * as z from "zod/mini";
import { systemClock } from "../relay/clock.ts";
import { type Relay, type RelayOptions, startRelay } from "../relay/relay.ts";
import { kubeconfigOf } from "../sandbox/kubeconfig.ts";
import { applyManifests } from "../sandbox/manifests.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

const folder = fileURLToPath(new URL("../relay/kubernetes/", import.meta.url));
const ACCOUNT = "/api/v1/namespaces/lifeboat-system/serviceaccounts/lifeboat-relay";

const Manifests = z.array(
  z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
);
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

/** Resolves to how the relay reaches the API server. */
export async function installRelay({ client, caPem, url }: Sandbox): Promise<KubeConfig> {
  for (const file of ["serviceaccount.yaml", "rbac.yaml"]) await applyManifests(client, readManifests(file));
  const { body } = await client.raw({ method: "POST", path: `${ACCOUNT}/token`, body: { spec: {} } });
  const { token } = z.parse(TokenRequest, body).status;
  return kubeconfigOf({ url, caPem, user: "lifeboat-relay", token });
}

export type RelayTo = Pick<RelayOptions, "kubeConfig" | "endpoint" | "secret" | "fetch">;

export function startRelayBeside(to: RelayTo): Relay {
  return startRelay({ ...to, clock: systemClock, random: Math.random, log: () => undefined });
}

function readManifests(file: string) {
  return z.parse(Manifests, loadAll(readFileSync(`${folder}${file}`, "utf8")));
}

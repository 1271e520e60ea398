/**
 * The relay beside a sandbox, under the account that its manifests give it.
 * Owns: that account's token, the way to the Worker. Does not own: the relay (infra/relay).
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadAll } from "js-yaml";
import * as z from "zod/mini";
import { systemClock } from "../relay/clock.ts";
import { startRelay, type Relay } from "../relay/relay.ts";
import { kubeconfigOf } from "../sandbox/kubeconfig.ts";
import { applyManifests } from "../sandbox/manifests.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Lifeboat } from "../tools/lifeboat.ts";

const folder = fileURLToPath(new URL("../relay/kubernetes/", import.meta.url));
const ACCOUNT = "/api/v1/namespaces/lifeboat-system/serviceaccounts/lifeboat-relay";

const Manifests = z.array(
  z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
);
const TokenRequest = z.object({ status: z.object({ token: z.string() }) });

export async function startRelayBeside(sandbox: Sandbox, { url, worker }: Lifeboat, secret: string): Promise<Relay> {
  const { client, caPem, url: server } = sandbox;
  for (const file of ["serviceaccount.yaml", "rbac.yaml"]) await applyManifests(client, readManifests(file));
  const { body } = await client.raw({ method: "POST", path: `${ACCOUNT}/token`, body: { spec: {} } });
  const { token } = z.parse(TokenRequest, body).status;
  return startRelay({
    kubeConfig: kubeconfigOf({ url: server, caPem, user: "lifeboat-relay", token }),
    endpoint: new URL(`${url}/events`),
    secret,
    clock: systemClock,
    random: Math.random,
    // The Worker's certificate is the sandbox's, which this process does not trust.
    async fetch(input, init) {
      const request = new Request(input, init);
      const { method, headers } = request;
      const path = new URL(request.url).pathname;
      return worker.fetch(path, { method, headers: [...headers], body: await request.text() });
    },
    log: () => undefined,
  });
}

function readManifests(file: string) {
  return z.parse(Manifests, loadAll(readFileSync(`${folder}${file}`, "utf8")));
}

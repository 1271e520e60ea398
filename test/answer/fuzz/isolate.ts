/** Runs the Worker as one isolate on a simulated platform. */
import { createHmac } from "node:crypto";
import type { IsolateState } from "../../../functions/target.ts";
import { parseRegistryEntry } from "../../../shared/settings/clusters.ts";
import type { VirtualClock } from "../../support/clock.ts";
import { type Answer, openApp } from "../../support/app.ts";
import type { Keys, KeysByCluster } from "./authentication.ts";
import { ENTRY, SECRETS } from "./canaries.ts";
import { type HostileCluster, origin, SERVER } from "./cluster/hostile-cluster.ts";
import { type FuzzedRequest, platformRequest } from "./requests/request.ts";

// The Worker loads these modules on demand. The test loads the modules now, because the virtual clock would run during
// the loading.
await Promise.all([
  import("../../../functions/page/routes.ts"),
  import("../../../shared/settings/configuration.ts"),
  import("../../../shared/descheduling/policy-file.ts"),
  import("js-yaml"),
]);

/**
 * Replaces WebCrypto's HMACs with functions that finish at once. clock.ts does the same for digests. The other
 * algorithms are not replaced.
 */
const { subtle } = crypto;
const its = {
  importKey: subtle.importKey.bind(subtle),
  sign: subtle.sign.bind(subtle),
  verify: subtle.verify.bind(subtle),
};
const secrets = new WeakMap<object, Uint8Array>();
function hmacOf(key: object, data: unknown): Buffer | undefined {
  const secret = secrets.get(key);
  return secret && data instanceof Uint8Array ? createHmac("sha256", secret).update(data).digest() : undefined;
}
const instead = {
  async importKey(...given: Parameters<typeof its.importKey>) {
    const key = await its.importKey(...given);
    if (key.algorithm.name === "HMAC" && given[1] instanceof Uint8Array) secrets.set(key, given[1]);
    return key;
  },
  async sign(...given: Parameters<typeof its.sign>) {
    const made = hmacOf(given[1], given[2]);
    return made ? new Uint8Array(made).buffer : await its.sign(...given);
  },
  async verify(...given: Parameters<typeof its.verify>) {
    const [, key, signature, data] = given;
    const made = hmacOf(key, data);
    return made && signature instanceof Uint8Array ? made.equals(signature) : await its.verify(...given);
  },
};
for (const [name, value] of Object.entries(instead))
  Object.defineProperty(subtle, name, { value, configurable: true, writable: true });

const CLUSTERS = JSON.stringify({
  prod: { server: SERVER, ...ENTRY },
  vpc: { server: "binding:PROD_API", ...ENTRY },
  unbound: { server: "binding:NOTHING", ...ENTRY },
  bad: { server: "http://example.com", ...ENTRY, more: SECRETS.header },
});
/** This entry has no separate token for people. */
const { operatorToken: _, ...ENTRY_OF_KV } = ENTRY;
const REGISTERED = new Map(
  Object.entries({
    kv: JSON.stringify({ server: `${SERVER}//`, ...ENTRY_OF_KV }),
    badkv: `{"server": "${SECRETS.header}"`,
  }).map(([name, text]) => [name, parseRegistryEntry(text, name)]),
);

export interface Isolate {
  readonly keys: KeysByCluster;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly after: readonly Promise<unknown>[];
  send(request: FuzzedRequest, index: number): Promise<Answer>;
}

/** Returns a registry whose entries are already decrypted, because WebCrypto would delay the virtual clock. */
function registry(fails: boolean): IsolateState["registry"] {
  const find = async (name: string) => {
    if (fails) throw new Error("KV GET failed: 500 Internal Server Error");
    return REGISTERED.get(name);
  };
  return { find, names: async () => (fails ? [] : [...REGISTERED.keys()]) };
}

export function openIsolate(cluster: HostileCluster, clock: VirtualClock, registryFails: boolean): Isolate {
  const { fetch } = cluster;
  const app = openApp({ CLUSTERS, PROD_API: { fetch } }, undefined, {
    fetch,
    clock,
    registry: registry(registryFails),
  });
  const inSecret = ["prod", "vpc", "unbound"].map((name) => [name, ENTRY] as const);
  return {
    keys: new Map<string, Keys>([...inSecret, ...(registryFails ? [] : [["kv", ENTRY_OF_KV] as const])]),
    log: app.log,
    after: app.after,
    send: (request, index) => origin.run(index, () => app.request(platformRequest(request))),
  };
}

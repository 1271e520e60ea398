/** The Worker as one isolate of it would be: its doors, on a platform of ours. */
import * as fc from "fast-check";
import { createApp } from "../../../functions/app.ts";
import type { Env } from "../../../functions/env.ts";
import { runTick } from "../../../functions/schedule.ts";
import { type IsolateState, newIsolateState } from "../../../functions/target.ts";
import { newPlatform } from "../../support/doors.ts";
import { mutated, mutatedText } from "../../support/generators/json.ts";
import { type Json } from "../../support/json.ts";
import { usually } from "../../support/generators/often.ts";
import type { Keys, KeysByCluster } from "./authentication.ts";
import { ENTRY, SECRETS } from "./canaries.ts";
import { type HostileCluster, origin, SERVER } from "./cluster/hostile-cluster.ts";
import { type Answer, answerOf } from "./judge.ts";
import { type FuzzedRequest, platformRequest } from "./requests/request.ts";
import type { VirtualClock } from "../../support/clock.ts";
import { parseRegistryEntry } from "../../../shared/settings/clusters.ts";

// The Worker loads these when it needs them. That takes real time, during which virtual time would pass.
await Promise.all([import("../../../functions/page/routes.ts"), import("js-yaml")]);

const ENTRIES: Json = {
  prod: { server: SERVER, ...ENTRY },
  vpc: { server: "binding:PROD_API", ...ENTRY },
  unbound: { server: "binding:NOTHING", ...ENTRY },
  bad: { server: "http://example.com", ...ENTRY, more: SECRETS.header },
};
/** People have no token of their own there. */
const { operatorToken: _, ...ENTRY_OF_KV } = ENTRY;
const REGISTERED = new Map(
  Object.entries({
    kv: JSON.stringify({ server: `${SERVER}//`, ...ENTRY_OF_KV }),
    badkv: `{"server": "${SECRETS.header}"`,
  }).map(([name, text]) => [name, parseRegistryEntry(text, name)]),
);

export interface Isolate {
  /** What opens its doors; absent where `CLUSTERS` is not what it should be. */
  readonly keys: KeysByCluster | undefined;
  readonly registryFails: boolean;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** What goes on after answers. */
  readonly after: readonly Promise<unknown>[];
  send(request: FuzzedRequest, index: number): Promise<Answer>;
  tick(): Promise<void>;
}

/** Opened already: WebCrypto takes a time that is not the virtual clock's. */
function registry(fails: boolean): IsolateState["registry"] {
  const find = async (name: string) => {
    if (fails) throw new Error("KV GET failed: 500 Internal Server Error");
    return REGISTERED.get(name);
  };
  return { find, names: async () => (fails ? [] : [...REGISTERED.keys()]) };
}

function keysOf(registryFails: boolean): KeysByCluster {
  const inSecret = ["prod", "vpc", "unbound"].map((name) => [name, ENTRY] as const);
  return new Map<string, Keys>([...inSecret, ...(registryFails ? [] : [["kv", ENTRY_OF_KV] as const])]);
}

const orderly = JSON.stringify(ENTRIES);
const disorderly = mutated(fc.constant(ENTRIES), [1, 3]).map((entries) => JSON.stringify(entries));

/** Mostly what it should be. */
export const environment = fc.record({
  clusters: usually(fc.constant(orderly), fc.oneof(disorderly, mutatedText(fc.constant(orderly))), 20),
  registryFails: usually(fc.constant(false), fc.constant(true), 50),
});
type Environment = typeof environment extends fc.Arbitrary<infer T> ? T : never;

export function openIsolate(
  cluster: Pick<HostileCluster, "fetch">,
  clock: VirtualClock,
  { clusters, registryFails }: Environment,
): Isolate {
  const instead = {
    fetch: cluster.fetch,
    now: () => clock.now(),
    sleep: (ms: number) => clock.sleep(ms),
    timeout: (ms: number) => clock.timeout(ms),
  };
  const { platform, context, world } = newPlatform(undefined, undefined, instead);
  const env: Env = {
    CLUSTERS: clusters,
    PROD_API: { fetch: (url: string, init: RequestInit) => cluster.fetch(url, init) },
  };
  const state = { ...newIsolateState(), registry: registry(registryFails) };
  const app = createApp(platform, state);
  return {
    keys: clusters === orderly ? keysOf(registryFails) : undefined,
    registryFails,
    log: world.log,
    after: world.after,
    send: (request, index) =>
      origin.run(index, async () => {
        return await answerOf(await app.fetch(platformRequest(request), env, context));
      }),
    tick: () => runTick(clock.now().getTime(), { env, platform, state }),
  };
}

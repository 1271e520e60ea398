/** Restores etcd to an earlier state. Clients see ordinary changes of objects. */
import { setTimeout as delay } from "node:timers/promises";

export interface Memory {
  /** Restores the content. Resolves when the controllers no longer change it. */
  restore(): Promise<void>;
}

const ALL = { key: base64("/registry/"), range_end: base64("/registry0") };
/** Matches keys that the programs change all the time. These keys are not restored. */
const OWN = /^\/registry\/(?:masterleases|apiregistration\.k8s\.io|leases\/(?:kube-system|kubevirt))\//;
/** The maximum number of operations in a transaction. etcd's default limit is 128. */
const MAX_OPERATIONS = 100;
const MAX_ROUNDS = 40;
const PAUSE_MS = 50;

interface Entry {
  readonly key: string;
  readonly mod_revision: string;
  readonly value?: string;
}

interface Range {
  readonly kvs?: readonly Entry[];
}

export async function remember(url: string): Promise<Memory> {
  const ask = (path: string, body: object) => post(`${url}/v3/kv/${path}`, body);
  const list = async (keysOnly: boolean): Promise<ReadonlyMap<string, Entry>> => {
    const { kvs = [] } = (await ask("range", { ...ALL, keys_only: keysOnly, limit: 0 })) as Range;
    return new Map(kvs.filter(({ key }) => !OWN.test(text(key))).map((entry) => [entry.key, entry]));
  };
  const known = new Map(await list(false));

  const round = async (): Promise<number> => {
    const now = await list(true);
    const strangers = [...now.keys()].filter((key) => !known.has(key));
    const changed = [...known.values()].filter(({ key, mod_revision }) => now.get(key)?.mod_revision !== mod_revision);
    for (const keys of inBatches(strangers))
      await ask("txn", { success: keys.map((key) => ({ request_delete_range: { key } })) });
    for (const entries of inBatches(changed)) {
      const puts = entries.map(({ key, value = "" }) => ({ request_put: { key, value } }));
      const { header } = (await ask("txn", { success: puts })) as Written;
      for (const entry of entries) known.set(entry.key, { ...entry, mod_revision: header.revision });
    }
    return strangers.length + changed.length;
  };

  return {
    async restore() {
      // Repeats the restore, because controllers might still be reacting to earlier changes.
      for (let i = 0, quiet = 0; quiet < 2; i += 1) {
        if (i === MAX_ROUNDS)
          throw new Error("etcd could not be restored, because the controllers do not stop changing objects");
        quiet = (await round()) === 0 ? quiet + 1 : 0;
        await delay(PAUSE_MS);
      }
    },
  };
}

interface Written {
  readonly header: { readonly revision: string };
}

function inBatches<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / MAX_OPERATIONS);
  return Array.from({ length: count }, (_, i) => all.slice(i * MAX_OPERATIONS, (i + 1) * MAX_OPERATIONS));
}

async function post(url: string, body: object): Promise<unknown> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

function base64(from: string): string {
  return Buffer.from(from).toString("base64");
}

function text(encoded: string): string {
  return Buffer.from(encoded, "base64").toString();
}

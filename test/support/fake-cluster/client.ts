/** The client's verbs over a fake cluster. */
import type { Answer, Client, Listing, Manifest, WriteOptions } from "../../../shared/kube/client.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { Facts, Resource } from "../../../shared/kube/resources.ts";
import { type NamespacedName, keyOf } from "../../../shared/kube/facts.ts";
import type { FakeCluster } from "./fake-cluster.ts";
import { answer } from "./answer.ts";
import { labelOfCount, labelOfGet, labelOfList, labelOfWrite } from "./labels.ts";
import { createIn } from "./creations.ts";
import { listOf } from "./lists.ts";
import { patchIn } from "./patched.ts";
import { cancelEvacuation } from "./fake-virt-api.ts";

/** `request`: what is asked for, in the words of labels.ts; `scope`: the key, or what is listed. */
export type Before = (request: string, scope?: unknown) => unknown;

interface How {
  readonly as?: unknown;
  readonly expect?: readonly number[];
}

export const FORBIDDEN_CODE = 403;

export function clientOf(fake: FakeCluster, before: Before): Client {
  const when = async <T>(request: string, answer: () => T, scope?: unknown): Promise<T> => {
    await before(request, scope);
    return answer();
  };

  function get<R extends Resource, T = Facts<R>>(resource: R, key: NamespacedName): Promise<T | undefined>;
  function get(resource: Resource, key: NamespacedName, how: How = {}): Promise<unknown> {
    return when(labelOfGet(resource, how), () => found(fake, resource, key, how), key);
  }

  function list<R extends Resource, T = Facts<R>>(resource: R, listing?: Listing): Promise<readonly T[]>;
  function list(resource: Resource, listing: Listing & How = {}): Promise<readonly unknown[]> {
    return when(labelOfList(resource, listing), () => listOf(fake, resource, listing), listing);
  }

  function create<R extends Resource>(resource: R, manifest: Manifest): Promise<Answer<Facts<R>>>;
  function create(resource: Resource, manifest: Manifest, how: WriteOptions = {}): Promise<Answer> {
    return when(labelOfWrite("create", resource, manifest, how), () => createIn(fake, resource, manifest));
  }

  function patch<R extends Resource>(resource: R, key: NamespacedName, body: object): Promise<Answer<Facts<R>>>;
  function patch(resource: Resource, key: NamespacedName, body: object, how: WriteOptions = {}): Promise<Answer> {
    return when(labelOfWrite("patch", resource, body, how), () => patchIn(fake, { resource, key, body, how }));
  }

  return {
    get,
    list,
    count: (resource) => when(labelOfCount(resource), () => listOf(fake, resource, {}).length),
    create,
    patch,
    update: (vmi, _, body) =>
      when("Unmark", () => {
        const code = cancelEvacuation(fake, vmi, body) === "Done" ? 200 : 500;
        return { code, request: "PUT" };
      }),
    delete: (resource, seen) =>
      when(labelOfWrite("delete", resource, {}, {}), () => {
        const shelf = fake.shelfOf(resource);
        if (shelf === undefined) throw new Error(`nothing deletes ${resource}`);
        if (shelf.get(seen) === undefined) return answer(404);
        return answer(shelf.remove(seen, seen.resourceVersion !== undefined) === "Done" ? 200 : 409);
      }),
  };
}

function found(fake: FakeCluster, resource: string, key: NamespacedName, { expect = [] }: How): unknown {
  switch (resource) {
    case "version":
      return fake.isTokenAccepted ? { minor: "36" } : undefined;
    case "lifeboatconfigurations":
      return fake.configuration;
    case "plugins":
    case "leases":
      return {};
    case "validatingwebhookconfigurations": {
      const installed = fake.ownWebhooks.get(key.name) ?? "Unread";
      if (installed !== "Unread") return installed === "Absent" ? undefined : installed;
      if (expect.includes(FORBIDDEN_CODE)) return undefined;
      throw new ClusterError({ reason: "Refused", code: FORBIDDEN_CODE, request: keyOf(key) });
    }
    default:
      return fake.shelfOf(resource)?.get(key);
  }
}

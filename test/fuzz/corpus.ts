/**
 * What real parties have sent and held, as record-corpus.ts has written it down.
 * Owns: reading it, and what neither of them sends often enough to be recorded. Does not own: mutations.
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import * as z from "zod/mini";
import { isObject, type Json, type JsonObject } from "./json-mutations.ts";
import { UPSTREAM } from "./canaries.ts";

function read(name: string): Json {
  const value: Json = JSON.parse(readFileSync(new URL(`corpus/${name}.json`, import.meta.url), "utf8"));
  return value;
}

function listIn(value: Json | undefined, key: string): readonly Json[] {
  const list = isObject(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}

export function objectsIn(value: Json | undefined, key: string): readonly JsonObject[] {
  return listIn(value, key).filter(isObject);
}

/** The value at a path of keys. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

const reviews = read("reviews");
const uid = "7f6a0f0e-3c5d-4c6e-9a55-0f9d0c1b2a3d";
const event = (type: string, data: JsonObject): JsonObject => {
  const time = "2026-11-20T12:00:00.000Z";
  return { specversion: "1.0", id: `${uid}.1.${type}`, source: "/relay", type, time, data };
};
const recorded = read("deliveries");
const deliveries = Array.isArray(recorded) ? recorded : [];

/** The relay has seen neither a kubelet kill nor a node change, and never sees a domain. */
const UNRECORDED: Json = [
  event("dev.lifeboat.node.changed.v1", { name: "node01" }),
  event("dev.lifeboat.pod.killing.v1", { namespace: "vms", name: "virt-launcher-web-abcde", uid, reason: "Evicted" }),
  event("dev.lifeboat.domain.shutdown.v1", {
    namespace: "vms",
    name: "web",
    uid,
    domain: { status: "Running", gracefulShutdown: true },
  }),
];

export const CORPUS = {
  evictions: objectsIn(reviews, "evictions"),
  deletions: objectsIn(reviews, "deletions"),
  deliveries: [...deliveries, UNRECORDED],
};

const objects = read("objects") ?? {};

/** By path of the collection, as an API server lists them. */
export const COLLECTIONS: ReadonlyMap<string, readonly JsonObject[]> = new Map(
  Object.entries(objects).flatMap(([path, list]) =>
    isObject(list) && "items" in list ? [[path, objectsIn(list, "items").map(withCanary)] as const] : [],
  ),
);

export const VERSION: Json = at(objects, "/version") ?? null;

/** Nobody has a reason to read who has written what. */
function withCanary(object: JsonObject): JsonObject {
  const metadata = object["metadata"];
  return isObject(metadata) ? { ...object, metadata: { ...metadata, managedFields: [{ manager: UPSTREAM }] } } : object;
}

const POLICY_MAP = new URL("../../infra/kubernetes/optional/descheduler-policy.yaml", import.meta.url);
const policyMap: unknown = load(readFileSync(POLICY_MAP, "utf8"));

/** The example that is shipped, as text and as what it says. */
export const DESCHEDULER_POLICY_TEXT = z.parse(z.object({ data: z.object({ "policy.yaml": z.string() }) }), policyMap)
  .data["policy.yaml"];
export const DESCHEDULER_POLICY: Json = JSON.parse(JSON.stringify(load(DESCHEDULER_POLICY_TEXT)));

/**
 * Requests to every door: real ones, mutated in every part.
 * Owns: putting path, headers and body together. Does not own: the mutations.
 */
import { BATCH_CONTENT_TYPE } from "../../../shared/events/cloud-event.ts";
import { SECRETS } from "../canaries.ts";
import { at, CORPUS } from "../corpus.ts";
import { isObject, type Json, mutated, oddJson, oddString } from "../json-mutations.ts";
import type { Random } from "../random.ts";
import { mutatedBytes, mutatedText } from "../text-mutations.ts";
import * as addresses from "./addresses.ts";
import { authorization, type Caller, contentType, type Header, oddLength, signature } from "./credentials.ts";
import type { FuzzedRequest } from "./request.ts";

type Make = (random: Random, now: Date) => FuzzedRequest;

const METHODS: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND"];

/** None at all, a few, or so many changes. */
function bodyOf(value: Json, random: Random): string {
  const changed = random.chance(0.3) ? value : mutated(value, random, random.pick([1, 1, 1, 2, 4, 12]));
  const text = JSON.stringify(changed);
  return random.chance(0.9) ? text : mutatedText(text, random);
}

function bytesOf(text: string, random: Random): FuzzedRequest["body"] & {} {
  return random.chance(0.98) ? text : mutatedBytes(text, random);
}

const DRY_RUNS: readonly Json[] = [null, null, {}, { dryRun: ["All"] }, { dryRun: "All" }];

/** What was recorded were dry runs, so that nothing happened; most of these are none. */
function earnest(review: Json, random: Random): Json {
  const copy = structuredClone(review);
  const request = at(copy, "request");
  if (!isObject(request)) return copy;
  request["dryRun"] = random.chance(0.1) ? random.pick<Json>([true, true, "true", 1]) : false;
  const object = request["object"];
  if (isObject(object)) object["deleteOptions"] = random.pick(DRY_RUNS);
  else request["options"] = random.pick(DRY_RUNS);
  if (random.chance(0.1)) request["name"] = oddString(random);
  return copy;
}

function review(kind: "evictions" | "deletions"): Make {
  return (random) => {
    const inPath = random.chance(0.3);
    const token = inPath ? `/${random.mostly(SECRETS.webhookToken, ["x", SECRETS.operatorToken, "%20"])}` : "";
    const path = `/clusters/${addresses.clusterName(random)}/admission/${kind}${token}${addresses.timeoutQuery(random)}`;
    const body = bodyOf(earnest(random.pick(CORPUS[kind]), random), random);
    const headers = [
      ...(inPath && random.chance(0.9) ? [] : authorization("webhook", random)),
      ...contentType("application/json", random),
    ];
    return { method: "POST", path, headers: [...headers, ...oddLength(random)], body: bytesOf(body, random) };
  };
}

const delivery: Make = (random, now) => {
  const text = bodyOf(random.pick(CORPUS.deliveries), random);
  const signed = signature(text, now, random);
  const body = random.chance(0.92) ? text : mutatedText(text, random);
  const path = `/clusters/${addresses.clusterName(random)}/events`;
  const headers = [...signed, ...contentType(BATCH_CONTENT_TYPE, random), ...oddLength(random)];
  return { method: "POST", path, headers, body: bytesOf(body, random) };
};

function ask(method: string, caller: Caller, path: (random: Random) => string): Make {
  return (random) => {
    const headers: readonly Header[] = authorization(caller, random);
    const request = { method, path: `/clusters/${addresses.clusterName(random)}/${path(random)}`, headers };
    return random.chance(0.9) ? request : { ...request, body: JSON.stringify(oddJson(random)) };
  };
}

const plain =
  (path: string): Make =>
  () => ({ method: "GET", path, headers: [] });

/** Every door, as often as it stands here. */
const MAKES: readonly Make[] = [
  ...Array.from({ length: 6 }, () => review("evictions")),
  ...Array.from({ length: 4 }, () => review("deletions")),
  ...Array.from({ length: 4 }, () => delivery),
  ask("POST", "webhook", () => "reconcile"),
  ask("POST", "webhook", (random) => `reconcile?scope=${oddString(random)}`),
  ask("POST", "webhook", (random) => `deschedule${addresses.dryRunQuery(random)}`),
  ask("POST", "webhook", (random) => `deschedule${addresses.dryRunQuery(random)}`),
  ask("GET", "operator", (random) => `explain/pods/${addresses.podKey(random)}`),
  ask("GET", "operator", (random) => `explain/pods/${addresses.podKey(random)}`),
  ask("GET", "operator", () => "evacuations"),
  ask("DELETE", "operator", (random) => `evacuations/${addresses.vmiKey(random)}`),
  ask("DELETE", "operator", (random) => `evacuations/${addresses.vmiKey(random)}`),
  ask("DELETE", "operator", (random) => `evacuations/${addresses.vmiKey(random)}`),
  ask("GET", "operator", () => "readyz"),
  ask("GET", "operator", () => "readyz"),
  ask("GET", "operator", () => "metrics"),
  ask("GET", "operator", () => "metrics"),
  plain("/healthz"),
  plain("/readyz"),
];

export function anyRequest(random: Random, now: Date): FuzzedRequest {
  const request = random.pick(MAKES)(random, now);
  const method = random.chance(0.97) ? request.method : random.pick(METHODS);
  const path = random.chance(0.94) ? request.path : addresses.mutatedPath(request.path, random);
  const odd: readonly Header[] = random.chance(0.97) ? [] : [[random.pick(ODD_HEADERS), oddString(random)]];
  return { ...request, method, path, headers: [...request.headers, ...odd] };
}

const ODD_HEADERS: readonly string[] = [
  "x-http-method-override",
  "transfer-encoding",
  "accept",
  "host",
  "cf-connecting-ip",
  "expect",
];

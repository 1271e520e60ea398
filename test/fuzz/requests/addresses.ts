/**
 * Where requests go: the doors, and near misses.
 * Owns: paths and queries. Does not own: what is sent there.
 */
import { SECRETS } from "../canaries.ts";
import { at, COLLECTIONS } from "../corpus.ts";
import { oddString } from "../json-mutations.ts";
import type { Random } from "../random.ts";

/** `prod` is there; `vpc` behind a binding, `kv` in the registry; with the others something is wrong. */
export const CLUSTERS: readonly string[] = ["prod", "prod", "prod", "prod", "vpc", "kv"];
export const BAD_CLUSTERS: readonly string[] = ["bad", "unbound", "badkv", "nowhere", "constructor", "__proto__"];

export const TIMEOUTS: readonly string[] = [
  "10s", "10s", "5s", "30s", "1s", "500ms", "1m0s", "1h2m3.5s", "1.5s", "0s", "-1s", "1e3s", "9999999h", "1us", "1ns", "1µs",
  "10", "", "s", "NaN", "Infinitys", "1s 2s", "0.0000001s", "999999999999999999999999999999s", "%", "10s&timeout=1s",
]; // prettier-ignore

const DRY_RUNS: readonly string[] = [
  "true",
  "false",
  "",
  "All",
  "True",
  "1",
  "true&dryRun=false",
  "false&dryRun=true",
  "%00",
];

export function clusterName(random: Random): string {
  if (random.chance(0.92)) return random.pick(CLUSTERS);
  return random.chance(0.7) ? random.pick(BAD_CLUSTERS) : encodeURIComponent(wellFormed(oddString(random)));
}

/** Percent-encoding has no words for half a character. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}

function namesOf(path: string): readonly string[] {
  const names = (COLLECTIONS.get(path) ?? []).map((item) => at(item, "metadata", "name"));
  return names.filter((name) => typeof name === "string");
}

const PODS = namesOf("/api/v1/pods");
const VMIS = namesOf("/apis/kubevirt.io/v1/virtualmachineinstances");

function key(names: readonly string[], random: Random): string {
  const namespace = random.mostly("vms", ["default", "..", "a%2Fb", "VMS", "%00", "%E0%A4%A"]);
  const name = random.chance(0.85) ? random.pick(names) : encodeURIComponent(wellFormed(oddString(random)));
  return `${namespace}/${name}`;
}

export function podKey(random: Random): string {
  return key(PODS, random);
}

export function vmiKey(random: Random): string {
  return key(VMIS, random);
}

export function dryRunQuery(random: Random): string {
  return random.chance(0.3) ? "" : `?dryRun=${random.chance(0.7) ? "true" : random.pick(DRY_RUNS)}`;
}

export function timeoutQuery(random: Random): string {
  if (random.chance(0.1)) return "";
  return `?timeout=${random.chance(0.95) ? random.pick(TIMEOUTS) : encodeURIComponent(wellFormed(oddString(random)))}`;
}

type PathMutation = (path: string, random: Random) => string;

const PATH_MUTATIONS: readonly PathMutation[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replaceAll("/", "//"),
  (path) => path.replace(/\/([^/]+)$/, "/%2E%2E/$1"),
  (path) => path.replace(/\/([^/]*)$/, "%2F$1"),
  (path) => path.replace(/\/([^/]+)\//, "/./$1/../$1/"),
  (path) => path.replace("c", "%63"),
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]$/, "%F0%9F%92%A9"),
  (path) => path.replace(/[a-z]$/, "%FF%"),
  (path) => `${path};a=b`,
  (path) => `${path}?a[__proto__]=b&&=&timeout`,
  (path) => `${path}/${SECRETS.webhookToken}`,
  (path) => `${path}/${SECRETS.operatorToken}`,
  (path) => path.replace(/\/[^/]+$/, `/${SECRETS.webhookToken}`),
  (path) => path.replace(/\/[^/]+$/, `/${SECRETS.operatorToken}`),
  (path, random) => `${path}?token=${random.pick([SECRETS.webhookToken, SECRETS.operatorToken])}`,
  (path, random) => `${path}/${"x".repeat(random.pick([300, 8000, 60_000]))}`,
  (path, random) => path.replace(/\/[^/]+$/, `/${encodeURIComponent(oddString(random).toWellFormed())}`),
];

export function mutatedPath(path: string, random: Random): string {
  const [before = "", ...query] = path.split("?");
  const changed = random.pick(PATH_MUTATIONS)(before, random);
  // A request line without a slash is no HTTP.
  return [changed.startsWith("/") ? changed : `/${changed}`, ...query].join("?");
}

/** Draws requests to every endpoint, as real clients send them, and changes any part of each request. */
import * as fc from "fast-check";
import { BATCH_CONTENT_TYPE } from "../../../../shared/events/cloud-event.ts";
import { NODE, NOW, time } from "../../../support/fixtures.ts";
import { VMS } from "../../../support/generators/clusters.ts";
import { mutated, mutatedText, oddJson, oddString } from "../../../support/generators/json.ts";
import { launcherOf, NAMESPACE, uidOf } from "../../../support/generators/objects.ts";
import { often, usually } from "../../../support/generators/often.ts";
import { SCHEDULER } from "../../../support/generators/settings.ts";
import { podsOf, vm } from "../../../support/generators/vms.ts";
import { asJson, type Json } from "../../../support/json.ts";
import { deletionOf, evictionReview } from "../../../support/reviews.ts";
import { SECRETS } from "../canaries.ts";
import * as addresses from "./addresses.ts";
import { authorization, type Caller, contentType, signing } from "./credentials.ts";
import { pageRequest } from "./pages.ts";
import type { FuzzedRequest, Header } from "./request.ts";

export type Make = (now: Date) => FuzzedRequest;
type Body = FuzzedRequest["body"] & {};

/** Draws a body that can be invalid JSON. Some bodies are raw bytes, and some of the raw bodies are not UTF-8. */
function bodyOf(value: fc.Arbitrary<Json>): fc.Arbitrary<string> {
  const text = mutated(value, [0, 0, 1, 1, 2, 4, 12]).map((json) => JSON.stringify(json));
  return usually(text, mutatedText(text));
}

const bytes = usually(
  fc.constant((text: string): Body => text),
  fc.nat().map((place) => (text: string): Body => {
    const encoded = new TextEncoder().encode(text);
    encoded[place % Math.max(encoded.length, 1)] = 0xff;
    return encoded;
  }),
  50,
);

const vmName = fc.constantFrom(...VMS);
const options = fc.constantFrom<Json>(null, null, {}, { dryRun: ["All"] }, { dryRun: "All" });
const dryRun = often<Json>(false, true, "true", 1);
const descheduler = { annotations: { "requested-by": "sigs.k8s.io/descheduler", reason: "NodeUtilization" } };

const eviction = fc
  .record({ name: vmName, by: often<object>({}, descheduler), deleteOptions: options, dryRun })
  .map(({ name, by, deleteOptions, dryRun: isDry }) => {
    const pod = { namespace: NAMESPACE, name: launcherOf(name) };
    const request = { ...pod, dryRun: isDry };
    return asJson(evictionReview({ request, eviction: { metadata: { ...pod, ...by }, deleteOptions } }));
  });

const PREEMPTED = { reason: "PreemptionByScheduler", status: "True", lastTransitionTime: time(-5) } as const;

const deletion = fc
  .record({ name: vmName, of: vm, isPreempted: often(true, false), options, dryRun, username: often(SCHEDULER, "") })
  .map(({ name, of, isPreempted, username, ...more }) => {
    const launcher = isPreempted ? { ...of.launcher, disruption: PREEMPTED } : of.launcher;
    const [pod] = podsOf({ ...of, launcher }, name);
    const key = { namespace: NAMESPACE, name: launcherOf(name) };
    return asJson(deletionOf(pod, { ...key, userInfo: { username }, object: null, ...more }));
  });

const batch = fc.array(
  fc.tuple(vmName, fc.nat(5)).map(([name, which]) => {
    const vmi = { namespace: NAMESPACE, name, uid: uidOf(name) };
    const pod = { namespace: NAMESPACE, name: launcherOf(name), uid: uidOf(launcherOf(name)) };
    const all = [
      ["pod.disrupted", { ...pod, node: NODE }],
      ["pod.killing", { ...pod, reason: "Evicted" }],
      ["vmi.changed", vmi],
      ["migration.changed", { namespace: NAMESPACE, name, migration: `m-${name}` }],
      ["evacuation.changed", { namespace: NAMESPACE, name, evacuation: `${name}-1` }],
      ["node.changed", { name: NODE }],
    ] as const;
    const [type, data] = all[which] ?? all[0];
    const event = { specversion: "1.0", id: `${vmi.uid}.1.${type}`, source: "/relay", time: NOW.toISOString(), data };
    return { ...event, type: `dev.lifeboat.${type}.v1` };
  }),
  { minLength: 1, maxLength: 3 },
);

const oddLength = usually(
  fc.constant<readonly Header[]>([]),
  fc.constantFrom("0", "99999999999", "-1", "NaN").map((length): readonly Header[] => [["content-length", length]]),
  30,
);

function review(kind: "evictions" | "deletions", value: fc.Arbitrary<Json>): fc.Arbitrary<Make> {
  const inPath = often<string>(SECRETS.webhookToken, "x", SECRETS.operatorToken, "%20").map((token) => `/${token}`);
  const bearer = fc.tuple(fc.constant(""), authorization("webhook"));
  const token = fc.tuple(inPath, usually(fc.constant<readonly Header[]>([]), authorization("webhook")));
  return fc
    .record({
      cluster: addresses.clusterName,
      credentials: fc.oneof({ weight: 7, arbitrary: bearer }, { weight: 3, arbitrary: token }),
      query: addresses.timeoutQuery,
      text: bodyOf(value),
      bytes,
      type: contentType("application/json"),
      length: oddLength,
    })
    .map(({ cluster, credentials: [inPathToo, headers], query, text, bytes: encoded, type, length }) => () => ({
      method: "POST",
      path: `/clusters/${cluster}/admission/${kind}${inPathToo}${query}`,
      headers: [...headers, ...type, ...length],
      body: encoded(text),
    }));
}

const delivery: fc.Arbitrary<Make> = fc
  .record({
    cluster: addresses.clusterName,
    text: bodyOf(batch),
    signing,
    /** If set, the request has this body, and the signature of another body. */
    instead: usually(fc.constant(undefined), mutatedText(fc.constant("[]")), 12),
    bytes,
    type: contentType(BATCH_CONTENT_TYPE),
    length: oddLength,
  })
  .map(({ cluster, text, signing: sign, instead, bytes: encoded, type, length }) => (now) => ({
    method: "POST",
    path: `/clusters/${cluster}/events`,
    headers: [...sign(text, now), ...type, ...length],
    body: encoded(instead ?? text),
  }));

function ask(method: string, caller: Caller, ...paths: readonly string[]): fc.Arbitrary<Make> {
  const body = usually(fc.constant(undefined), oddJson);
  return fc
    .tuple(addresses.clusterName, fc.constantFrom(...paths), authorization(caller), body)
    .map(([cluster, rest, headers, sent]) => () => {
      const request = { method, path: `/clusters/${cluster}/${rest}`, headers };
      return sent === undefined ? request : { ...request, body: JSON.stringify(sent) };
    });
}

const DRY_RUNS = ["", "", "?dryRun=true", "?dryRun=true", "?dryRun=All", "?dryRun=false&dryRun=true", "?dryRun=%00"];

const usual = fc.oneof(
  { weight: 6, arbitrary: review("evictions", eviction) },
  { weight: 4, arbitrary: review("deletions", deletion) },
  { weight: 4, arbitrary: delivery },
  ask("POST", "webhook", "reconcile", "reconcile?scope=all"),
  { weight: 2, arbitrary: ask("POST", "webhook", ...DRY_RUNS.map((query) => `deschedule${query}`)) },
  { weight: 4, arbitrary: ask("GET", "operator", "readyz", "metrics") },
  fc.constantFrom<Make>(
    () => ({ method: "GET", path: "/healthz", headers: [] }),
    () => ({ method: "GET", path: "/readyz", headers: [] }),
  ),
  {
    weight: 9,
    arbitrary: pageRequest.map(
      (request): Make =>
        () =>
          request,
    ),
  },
);

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND"];

export const anyRequest: fc.Arbitrary<Make> = fc
  .record({
    make: usual,
    method: usually(fc.constant(undefined), fc.constantFrom(...METHODS), 33),
    path: usually(
      fc.constant((path: string) => path),
      addresses.pathMutation,
      16,
    ),
    odd: usually(
      fc.constant<readonly Header[]>([]),
      oddString.map((text): readonly Header[] => [["x-http-method-override", text]]),
      33,
    ),
  })
  .map(({ make, method, path, odd }) => (now) => {
    const request = make(now);
    const headers = [...request.headers, ...odd];
    return { ...request, method: method ?? request.method, path: path(request.path), headers };
  });

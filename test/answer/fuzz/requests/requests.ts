/** Requests to every door: such as real parties send, mutated in every part. */
import * as fc from "fast-check";
import { BATCH_CONTENT_TYPE } from "../../../../shared/events/cloud-event.ts";
import { evictionReview } from "../../../support/reviews.ts";
import { VMS } from "../../../support/generators/clusters.ts";
import { mutated, mutatedText, oddJson, oddString } from "../../../support/generators/json.ts";
import { asJson, type Json } from "../../../support/json.ts";
import { launcherOf, NAMESPACE, uidOf } from "../../../support/generators/objects.ts";
import { often, usually } from "../../../support/generators/often.ts";
import { SCHEDULER } from "../../../support/generators/settings.ts";
import { podsOf, vm } from "../../../support/generators/vms.ts";
import { NODE, NOW, time } from "../../../support/fixtures.ts";
import { SECRETS } from "../canaries.ts";
import * as addresses from "./addresses.ts";
import { authorization, type Caller, contentType, signing } from "./credentials.ts";
import type { FuzzedRequest, Header } from "./request.ts";

/** By the clock that it is sent by. */
export type Make = (now: Date) => FuzzedRequest;
type Body = FuzzedRequest["body"] & {};

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND"];

function bodyOf(value: fc.Arbitrary<Json>): fc.Arbitrary<string> {
  const text = mutated(value, [0, 0, 1, 1, 2, 4, 12]).map((json) => JSON.stringify(json));
  return usually(text, mutatedText(text));
}

/** Now and then as bytes, some of which are no UTF-8. */
const bytes = usually(
  fc.constant((text: string): Body => text),
  fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }).map((places) => (text: string): Body => {
    const encoded = new TextEncoder().encode(text);
    for (const [place, byte] of places) encoded[place % Math.max(encoded.length, 1)] = byte;
    return encoded;
  }),
  50,
);

const vmName = fc.constantFrom(...VMS);
const DRY_RUNS: readonly Json[] = [{}, { dryRun: ["All"] }, { dryRun: "All" }];
const options = fc.constantFrom(null, null, ...DRY_RUNS, { dryRun: ["All"] });
const dryRun = fc.constantFrom<Json>(false, false, false, false, true, "true", 1);
const descheduler = { annotations: { "requested-by": "sigs.k8s.io/descheduler", reason: "NodeUtilization" } };

const eviction = fc
  .record({
    vm: vmName,
    by: fc.constantFrom({}, descheduler),
    deleteOptions: options,
    dryRun,
    name: oddString,
    odd: often(false, true),
  })
  .map((e) => {
    const pod = { namespace: NAMESPACE, name: launcherOf(e.vm) };
    const request = { ...pod, dryRun: e.dryRun, ...(e.odd && { name: e.name }) };
    return asJson(
      evictionReview({ request, eviction: { metadata: { ...pod, ...e.by }, deleteOptions: e.deleteOptions } }),
    );
  });

const PREEMPTED = { reason: "PreemptionByScheduler", status: "True", lastTransitionTime: time(-5) } as const;

const deletion = fc
  .record({
    name: vmName,
    vm,
    isPreempted: often(true, false),
    options,
    dryRun,
    username: often(SCHEDULER, "kubernetes-admin", ""),
  })
  .map(({ name, vm: of, isPreempted, username, ...more }) => {
    const [pod] = podsOf(
      { ...of, launcher: { ...of.launcher, disruption: isPreempted ? PREEMPTED : of.launcher.disruption } },
      name,
    );
    const resource = { group: "", version: "v1", resource: "pods" };
    const asked = {
      uid: "1",
      operation: "DELETE",
      namespace: NAMESPACE,
      name: launcherOf(name),
      userInfo: { username },
    };
    const request = { ...asked, resource, object: null, oldObject: pod, ...more };
    return asJson({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  });

const batch = fc.array(
  fc.tuple(vmName, fc.nat(6)).map(([name, which]) => {
    const vmi = { namespace: NAMESPACE, name, uid: uidOf(name) };
    const pod = { namespace: NAMESPACE, name: launcherOf(name), uid: uidOf(launcherOf(name)) };
    const DATA: Readonly<Record<string, Json>> = {
      "pod.disrupted": { ...pod, node: NODE },
      "pod.killing": { ...pod, reason: "Evicted" },
      "vmi.changed": vmi,
      "migration.changed": { namespace: NAMESPACE, name, migration: `m-${name}` },
      "evacuation.changed": { namespace: NAMESPACE, name, evacuation: `${name}-1` },
      "node.changed": { name: NODE },
    };
    const [type = "", data = null] = Object.entries(DATA)[which] ?? [];
    const id = `${vmi.uid}.1.${type}`;
    return { specversion: "1.0", id, source: "/relay", type: `dev.lifeboat.${type}.v1`, time: NOW.toISOString(), data };
  }),
  { minLength: 1, maxLength: 3 },
);

/** Lengths that are announced and not kept. */
const oddLength: fc.Arbitrary<readonly Header[]> = usually(
  fc.constant([]),
  fc
    .constantFrom("0", "1", "99999999999", "-1", "1e9", "NaN", "")
    .map((length): readonly Header[] => [["content-length", length]]),
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
    /** Sent instead of what was signed. */
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

function ask(method: string, caller: Caller, path: fc.Arbitrary<string>): fc.Arbitrary<Make> {
  return fc
    .tuple(addresses.clusterName, path, authorization(caller), usually(fc.constant(undefined), oddJson))
    .map(([cluster, rest, headers, body]) => () => {
      const request = { method, path: `/clusters/${cluster}/${rest}`, headers };
      return body === undefined ? request : { ...request, body: JSON.stringify(body) };
    });
}

const plain = (path: string) => fc.constant<Make>(() => ({ method: "GET", path, headers: [] }));

const door = fc.oneof(
  { weight: 6, arbitrary: review("evictions", eviction) },
  { weight: 4, arbitrary: review("deletions", deletion) },
  { weight: 4, arbitrary: delivery },
  ask(
    "POST",
    "webhook",
    usually(
      fc.constant("reconcile"),
      oddString.map((scope) => `reconcile?scope=${scope}`),
      2,
    ),
  ),
  {
    weight: 2,
    arbitrary: ask(
      "POST",
      "webhook",
      addresses.dryRunQuery.map((query) => `deschedule${query}`),
    ),
  },
  { weight: 2, arbitrary: ask("GET", "operator", fc.constant("readyz")) },
  { weight: 2, arbitrary: ask("GET", "operator", fc.constant("metrics")) },
  plain("/healthz"),
  plain("/readyz"),
);

const ODD_HEADERS = ["x-http-method-override", "transfer-encoding", "accept", "host", "cf-connecting-ip", "expect"];

export const anyRequest: fc.Arbitrary<Make> = fc
  .record({
    make: door,
    method: usually(fc.constant(undefined), fc.constantFrom(...METHODS), 33),
    path: usually(
      fc.constant((path: string) => path),
      addresses.pathMutation,
      16,
    ),
    odd: usually(
      fc.constant<readonly Header[]>([]),
      fc.tuple(fc.constantFrom(...ODD_HEADERS), oddString).map((one): readonly Header[] => [one]),
      33,
    ),
  })
  .map(({ make, method, path, odd }) => (now) => {
    const request = make(now);
    const headers = [...request.headers, ...odd];
    return { ...request, method: method ?? request.method, path: path(request.path), headers };
  });

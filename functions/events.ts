/**
 * Receives events from the relay, which watches the cluster. An event identifies a changed object, and Lifeboat then
 * reads that object from the cluster.
 */
import type { Context } from "hono";
import { timingSafeEqual } from "hono/utils/buffer";
import { BATCH_CONTENT_TYPE, EventBatch, type LifeboatEvent } from "../shared/events/cloud-event.ts";
import type { ClusterEntry } from "../shared/settings/clusters.ts";
import { WHEN_UNDECIDED } from "../shared/settings/failure-posture.ts";
import type { Deps, ReconcileRequest } from "../shared/reconcile/carry-out.ts";
import { reconcileRequested } from "../shared/reconcile/reconcile.ts";
import { RejectionError } from "./errors.ts";
import { reconcileWithin } from "./reconcile.ts";
import { parseBody } from "./review.ts";
import type { Target } from "./target.ts";

/** The time limit for a batch, in seconds. The relay waits longer than this limit for the answer. */
const RECONCILE_SECONDS = 20;

/**
 * Receives a batch of events. Answers 204 if Lifeboat acted on every event, and 503 if the relay must send the whole
 * batch again.
 */
export async function receiveEvents(c: Context, target: Target): Promise<Response> {
  await actOn(parseBatch(c.req.header("content-type"), await c.req.text()), target);
  return c.body(null, 204);
}

/**
 * Acts on a batch of events. Throws TryAgain if the relay must send the whole batch again. Does not throw for a
 * permanent failure, because the next full scan tries again.
 */
export async function actOn(events: readonly LifeboatEvent[], target: Target): Promise<void> {
  const requests = events.map(requestOf);
  if (requests.length === 0) return;
  const reconcile = (deps: Deps) => reconcileRequested(requests, deps);
  const { failures, refused, left } = await reconcileWithin(target, RECONCILE_SECONDS, reconcile, {
    watched: true,
  });
  if (failures - refused + left > 0 && WHEN_UNDECIDED.delivery === "fail") throw new RejectionError("TryAgain");
}

function parseBatch(contentType: string | undefined, payload: string): readonly LifeboatEvent[] {
  if (contentType?.split(";")[0]?.trim().toLowerCase() !== BATCH_CONTENT_TYPE) {
    throw new RejectionError("UnsupportedMediaType", { message: `expected ${BATCH_CONTENT_TYPE}` });
  }
  return parseBody(EventBatch, payload);
}

function requestOf(event: LifeboatEvent): ReconcileRequest {
  switch (event.type) {
    case "dev.lifeboat.pod.disrupted.v1":
      return { kind: "Pod", namespace: event.data.namespace, name: event.data.name };
    case "dev.lifeboat.pod.killing.v1":
      return { kind: "EndingPod", namespace: event.data.namespace, name: event.data.name, by: event.data.reason };
    case "dev.lifeboat.vmi.changed.v1":
    case "dev.lifeboat.migration.changed.v1":
    case "dev.lifeboat.evacuation.changed.v1":
      return { kind: "VirtualMachineInstance", namespace: event.data.namespace, name: event.data.name };
    case "dev.lifeboat.nodeevacuation.changed.v1":
      return { kind: "NodeEvacuation", name: event.data.name };
    case "dev.lifeboat.rollingmaintenance.changed.v1":
      return { kind: "RollingMaintenance", name: event.data.name };
    case "dev.lifeboat.node.changed.v1":
      return { kind: "Node", name: event.data.name };
  }
}

export async function asRelay(c: Context, { relaySecret = [] }: ClusterEntry, now: Date): Promise<void> {
  const payload = await c.req.text();
  const read = (name: string) => c.req.header(`webhook-${name}`) ?? "";
  const headers = { id: read("id"), timestamp: read("timestamp"), signature: read("signature") };
  if (!(await isSigned(payload, headers, [relaySecret].flat(), now))) throw new RejectionError("BadSignature");
}

const TOLERANCE_SECONDS = 5 * 60;
/** The maximum number of signatures to check. A header can contain thousands of signatures. */
const MOST_SIGNATURES = 8;
const HMAC = { name: "HMAC", hash: "SHA-256" };

export interface SignatureHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Checks the signature according to
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
 */
export async function isSigned(
  payload: string,
  { id, timestamp, signature }: SignatureHeaders,
  secrets: readonly string[],
  now: Date,
): Promise<boolean> {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  const fresh = Math.abs(now.getTime() / 1000 - seconds) <= TOLERANCE_SECONDS;
  if (!fresh || id === "") return false;
  const signed = `${id}.${timestamp}.${payload}`;
  const expected = await Promise.all(secrets.map((secret) => sign(signed, secret)));
  const pairs = signature
    .split(" ", MOST_SIGNATURES)
    .flatMap((given) => expected.map((e) => timingSafeEqual(given, e)));
  return (await Promise.all(pairs)).includes(true);
}

async function sign(text: string, secret: string): Promise<string> {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign(HMAC, key, new TextEncoder().encode(text)));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}

/** The relay's door: an event says that something has happened in a cluster, and Lifeboat looks there. */
import type { Context } from "hono";
import { BATCH_CONTENT_TYPE, EventBatch, type LifeboatEvent } from "../shared/events/cloud-event.ts";
import type { ClusterEntry } from "../shared/settings/clusters.ts";
import { WHEN_UNDECIDED } from "../shared/settings/failure-posture.ts";
import { parseConfig } from "../shared/settings/problem.ts";
import type { ReconcileRequest } from "../shared/reconcile/world.ts";
import { reconcileRequested } from "../shared/reconcile/reconcile.ts";
import { reconciling } from "./reconciling.ts";
import { parseJson, RejectionError, rejectProblems } from "./rejection.ts";
import type { Target } from "./target.ts";
import { isSigned } from "./webhook-signature.ts";

/** A delivery is answered when its events have been acted on; the relay waits this long and more. */
const PASS_SECONDS = 20;

/** Whether the relay of this cluster has signed what is delivered. */
export async function asRelay(c: Context, { relaySecret }: ClusterEntry, now: Date): Promise<void> {
  const payload = await c.req.text();
  const secrets = relaySecret === undefined ? [] : [relaySecret].flat();
  const headers = {
    id: c.req.header("webhook-id") ?? "",
    timestamp: c.req.header("webhook-timestamp") ?? "",
    signature: c.req.header("webhook-signature") ?? "",
  };
  if (!(await isSigned(payload, headers, secrets, now))) throw new RejectionError("BadSignature");
}

/**
 * 204: everything that was told has been looked at. 503: send all again. Duplicates and stale events are harmless. What is refused for good,
 * or about an object that cannot be understood, is not worth another delivery: the log has it, and full scans try it again.
 */
export async function receiveEvents(c: Context, target: Target): Promise<Response> {
  const payload = await c.req.text();
  const requests = parseBatch(c.req.header("content-type"), payload).map(requestOf);
  if (requests.length === 0) return c.body(null, 204);
  const looking = reconciling(target, PASS_SECONDS, (deps) => reconcileRequested(requests, deps));
  const { failures, refused, left } = await looking;
  if (failures - refused + left > 0 && WHEN_UNDECIDED.delivery === "fail") throw new RejectionError("TryAgain");
  return c.body(null, 204);
}

function parseBatch(contentType: string | undefined, payload: string): readonly LifeboatEvent[] {
  if (contentType?.split(";")[0]?.trim().toLowerCase() !== BATCH_CONTENT_TYPE) {
    throw new RejectionError("UnsupportedMediaType", { message: `expected ${BATCH_CONTENT_TYPE}` });
  }
  const parsed = parseConfig(EventBatch, parseJson(payload), "body");
  return parsed.ok ? parsed.value : rejectProblems("BadRequest", parsed.problems);
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
    case "dev.lifeboat.node.changed.v1":
      return { kind: "Node", name: event.data.name };
  }
}

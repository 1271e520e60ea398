/** The relay's endpoint: an event says that something has happened in a cluster, and Lifeboat reads it there. */
import type { Context } from "hono";
import { BATCH_CONTENT_TYPE, EventBatch, type LifeboatEvent } from "../shared/events/cloud-event.ts";
import { WHEN_UNDECIDED } from "../shared/settings/failure-posture.ts";
import type { Deps, ReconcileRequest } from "../shared/reconcile/carry-out.ts";
import { reconcileRequested } from "../shared/reconcile/reconcile.ts";
import { parseBody, RejectionError } from "./errors.ts";
import { reconcileWithin } from "./reconcile.ts";
import type { Target } from "./target.ts";

/** A delivery is answered when its events have been acted on; the relay waits this long and more. */
const RECONCILE_SECONDS = 20;

/**
 * 204: every event has been acted on. 503: send all again. Duplicates and stale events are harmless. What is refused for good,
 * or about an object that cannot be understood, is not worth another delivery: the log has it, and full scans try it again.
 */
export async function receiveEvents(c: Context, target: Target): Promise<Response> {
  const payload = await c.req.text();
  const requests = parseBatch(c.req.header("content-type"), payload).map(requestOf);
  if (requests.length === 0) return c.body(null, 204);
  const reconcile = (deps: Deps) => reconcileRequested(requests, deps);
  const { failures, refused, left } = await reconcileWithin(target, RECONCILE_SECONDS, reconcile);
  if (failures - refused + left > 0 && WHEN_UNDECIDED.delivery === "fail") throw new RejectionError("TryAgain");
  return c.body(null, 204);
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
    case "dev.lifeboat.node.changed.v1":
      return { kind: "Node", name: event.data.name };
  }
}

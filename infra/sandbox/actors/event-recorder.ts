/**
 * Records Events as Kubernetes' components do. If an Event is repeated, the recorder creates no new Event. It increases
 * the count of the existing Event.
 */
import { createHash } from "node:crypto";
import { timestamp, type Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";
import { events, type KubeObject, type Resource } from "./resources.ts";
import { isAlreadyExists } from "./status-error.ts";

export interface Occurrence {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The part of the object that the Event is about, such as `spec.containers{compute}`. */
  readonly fieldPath?: string;
}

export interface EventRecorder {
  /** Records an Event. Ignores errors. */
  record(about: KubeObject, kind: Resource, occurrence: Occurrence): Promise<void>;
}

/** Creates a recorder. A component on a node, such as the kubelet, passes the node's name as `host`. */
export function createEventRecorder(client: KubeClient, clock: Clock, component: string, host?: string): EventRecorder {
  const record = async (about: KubeObject, kind: Resource, { fieldPath, ...occurrence }: Occurrence) => {
    const { name, namespace = "default", uid, resourceVersion } = about.metadata;
    const part = fieldPath === undefined ? {} : { fieldPath };
    const { apiVersion } = kind;
    const involvedObject = { apiVersion, kind: kind.kind, name, namespace, uid, resourceVersion, ...part };
    const now = timestamp(clock);
    const key = { namespace, name: `${name}.${fingerprint(component, uid, occurrence)}` };
    const event = {
      metadata: key,
      involvedObject,
      ...occurrence,
      source: { component, ...(host !== undefined && { host }) },
      reportingComponent: component,
      reportingInstance: host ?? "",
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    try {
      await client.create(events, event);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const count = (await client.get(events, key))?.count ?? 0;
      await client.patch(events, key, { type: "merge", body: { count: count + 1, lastTimestamp: now } });
    }
  };
  return { record: (about, kind, occurrence) => record(about, kind, occurrence).catch(() => undefined) };
}

function fingerprint(component: string, uid: string, { reason, message }: Occurrence): string {
  return createHash("sha256").update([component, uid, reason, message].join("\0")).digest("hex").slice(0, 16);
}

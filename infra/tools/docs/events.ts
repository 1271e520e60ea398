/** The event types as documentation: EVENTS.md is rendered from the schemas. Nothing that runs imports this. */
import { BATCH_CONTENT_TYPE, LARGEST_BATCH, LARGEST_BATCH_BYTES } from "../../../shared/events/cloud-event.ts";
import { type EventData, type EventType } from "../../../shared/events/cloud-event.ts";

interface Documented<T extends EventType> {
  readonly when: string;
  readonly example: EventData<T>;
}

const VMI = { namespace: "vms", name: "web-1", uid: "7f6a0f0e-3c5d-4c6e-9a55-0f9d0c1b2a3d" };
const LAUNCHER = { ...VMI, name: "virt-launcher-web-1-x7k2p", uid: "0b8c6a52-6d0e-4d7a-8f0e-5b6c7d8e9f01" };

const EVENTS: { readonly [T in EventType]: Documented<T> } = {
  "dev.lifeboat.pod.disrupted.v1": {
    when: "A launcher or hotplug pod that has not ended gets the condition `DisruptionTarget` (status True) or a `deletionTimestamp`.",
    example: { ...LAUNCHER, node: "node01" },
  },
  "dev.lifeboat.pod.killing.v1": {
    when: "The kubelet writes an Event `Evicted`, `Preempting` or `Killing` about a launcher or hotplug pod that has no deletionTimestamp.",
    example: { ...LAUNCHER, reason: "Evicted" },
  },
  "dev.lifeboat.vmi.changed.v1": {
    when:
      "A VMI appears or goes, or one of these changes: phase, nodeName, evacuationNodeName, evictionStrategy, the condition " +
      "LiveMigratable, deletionTimestamp.",
    example: VMI,
  },
  "dev.lifeboat.migration.changed.v1": {
    when: "A migration of the VMI `name` appears or goes, or its phase or deletionTimestamp changes.",
    example: { namespace: VMI.namespace, name: VMI.name, migration: "lifeboat-web-1-5d41402a-1" },
  },
  "dev.lifeboat.evacuation.changed.v1": {
    when:
      "An Evacuation of the VMI `name` appears that Lifeboat has not looked at yet, or one that has not ended is cancelled " +
      "(`spec.intent` becomes `Withdrawn`) or tried again (`spec.retryAt`).",
    example: { namespace: VMI.namespace, name: VMI.name, evacuation: "web-1-5d41402a-1" },
  },
  "dev.lifeboat.node.changed.v1": {
    when: "A node's taints, or its conditions Ready, MemoryPressure, DiskPressure or PIDPressure, change; also when it goes.",
    example: { name: "node01" },
  },
};

const ENVELOPE = {
  specversion: "1.0",
  id: `${LAUNCHER.uid}.48291.dev.lifeboat.pod.killing.v1`,
  source: "/relay",
  type: "dev.lifeboat.pod.killing.v1",
  time: "2026-11-20T12:00:00.000Z",
};

export function renderEvents(): string {
  return `# Events

Rendered from the code: \`npx vitest run test/relay/events.test.ts -u\`.

\`POST /clusters/{cluster}/events\` takes a [CloudEvents 1.0 batch](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md#4-json-batch-format),
\`Content-Type: ${BATCH_CONTENT_TYPE}\`, of at most ${LARGEST_BATCH} events and ${LARGEST_BATCH_BYTES} bytes.
[Standard Webhooks](https://www.standardwebhooks.com) sign it with the cluster's \`relaySecret\`: headers \`webhook-id\`,
\`webhook-timestamp\` (at most five minutes off) and \`webhook-signature\`.

204 means taken in, 503 send all of it again. 400 names what is wrong, 401 means the signature, 413 the length, 415 the content type, 404 the
cluster.

An event only says which object to read: what it is then decides. Order does not matter, and the same event twice changes nothing more. Unknown
attributes and fields are ignored; an unknown type is refused. Each event is

\`\`\`json
${JSON.stringify({ ...ENVELOPE, data: "as below" })}
\`\`\`
${Object.entries(EVENTS).map(section).join("")}`;
}

function section([type, { when, example }]: readonly [string, Documented<EventType>]): string {
  return `
## \`${type}\`

${when}

\`\`\`json
${JSON.stringify(example)}
\`\`\`
`;
}

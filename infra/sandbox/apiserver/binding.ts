/** POST pods/{name}/binding: sets the node of a pod. */
import { admitValidating } from "./admission/webhooks.ts";
import { type Answer, type ResourceContext, resourceOf, storedIn, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { successStatus } from "./deletion.ts";
import { type KubeObject, isRecord, stringAt, recordsAt, childOf, recordAt } from "./objects.ts";
import { admissionOf, readWriteOptions } from "./options.ts";
import { parsedOnce } from "./store.ts";
import { badRequest, fail } from "./status.ts";
import { changeStored } from "./updating.ts";

export async function handleBinding(ctx: ResourceContext): Promise<Answer> {
  const { collection, info } = ctx;
  const binding = decodeBody(ctx);
  const node = stringAt(binding, "target.name");
  if (node === "") badRequest("target.name: Required value");
  const { dryRun } = readWriteOptions(ctx);
  const object = { ...binding, apiVersion: "v1", kind: "Binding", metadata: recordAt(binding, "metadata") };
  await admitValidating(ctx, admissionOf(ctx, dryRun)(object));
  checkFree(ctx, parsedOnce(storedIn(ctx)), node);
  if (!dryRun) changeStored(collection, info, (pod) => bind(pod, node, timestamp(ctx.state.now())));
  return { type: "Document", code: 201, body: successStatus(201) };
}

function checkFree({ info, kind }: ResourceContext, pod: KubeObject, node: string): void {
  const conflict = (message: string): never =>
    fail({ reason: "Conflict", resource: { ...resourceOf(kind), resource: "pods/binding" }, name: info.name, message });
  if (pod.metadata.deletionTimestamp !== undefined) {
    conflict(`pod ${info.name} is being deleted, cannot be assigned to a host`);
  }
  const bound = stringAt(pod, "spec.nodeName");
  if (bound !== "") conflict(`pod ${info.name} is already assigned to node ${JSON.stringify(bound || node)}`);
}

function bind(pod: KubeObject, node: string, now: string): void {
  const spec = childOf(pod, "spec");
  const { nominatedNodeName: _nomination, ...status } = isRecord(pod.status) ? pod.status : {};
  spec.nodeName = node;
  const others = recordsAt(status, "conditions").filter((one) => one.type !== "PodScheduled");
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now };
  pod.status = { ...status, conditions: [...others, scheduled] };
}

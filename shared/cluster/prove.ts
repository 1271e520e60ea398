/** Whether Lifeboat is permitted to do what it will have to: tried by dry runs, which change nothing. */
import { Launcher, LAUNCHER_SELECTOR } from "./kinds/kubernetes.ts";
import { Vmi } from "./kinds/kubevirt.ts";
import { mark, type MarkingContext } from "./marking.ts";
import * as patches from "./patches.ts";
import { object } from "./paths.ts";
import { readSome } from "./read.ts";
import type { Send } from "./transport.ts";
import { CHANGED, write } from "./write.ts";

const query = { dryRun: "All" };
/** Enough VMIs that one of them is on a node. */
const SAMPLE = "50";

/** Marks a VMI that has no mark: one that is marked would still be, also if KubeVirt put the status back. */
export async function proveMarking({ send, ...settings }: MarkingContext): Promise<void> {
  const vmis = await readSome(send, "virtualmachineinstances", Vmi, { limit: SAMPLE });
  const vmi = vmis.find(
    ({ nodeName, evacuationNodeName }) => nodeName !== undefined && evacuationNodeName !== nodeName,
  );
  if (vmi === undefined) return;
  const tryOut: Send = (request) => send(request.method === "GET" ? request : { ...request, query });
  await mark({ vmi, urgency: "normal" }, { send: tryOut, ...settings });
}

/** Annotates a launcher pod with nothing. That the pod is gone or has changed is an answer too: it was permitted. */
export async function proveAnnotating(send: Send): Promise<void> {
  const [pod] = await readSome(send, "pods", Launcher, { labelSelector: LAUNCHER_SELECTOR, limit: "1" });
  if (pod === undefined) return;
  const body = patches.annotate({ verb: "AnnotatePod", pod, add: {}, remove: [] });
  await write(send, { method: "PATCH", path: object("pods", pod), query, body }, CHANGED);
}

/**
 * Whether KubeVirt would keep a mark of ours: tried out by a dry run, which changes nothing.
 * Owns: that proof. Does not own: marking (act.ts).
 */
import type * as z from "zod/mini";
import { ClusterError } from "./failure.ts";
import { collection, object } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import { Page, Vmi } from "./schemas.ts";
import type { Send } from "./transport.ts";

const RESOURCE = "virtualmachineinstances";
/** Some VMI of the first page will be on a node. */
const SAMPLE = "50";

/** On a node, and without the mark that would be there again in any case if KubeVirt put the status back. */
function isUnmarked({ status }: z.output<typeof Vmi>): boolean {
  return status.nodeName !== undefined && status.evacuationNodeName !== status.nodeName;
}

/** Throws a ClusterError if marking is not permitted, or is undone. */
export async function proveMarking(send: Send, kubevirtUser: string): Promise<void> {
  const path = collection(RESOURCE);
  const { body } = await send({ method: "GET", path, query: { limit: SAMPLE } });
  const vmis = parseAnswer(Page, body, `GET ${path}`).items.flatMap((item) => {
    const parsed = Vmi.safeParse(item);
    return parsed.success && isUnmarked(parsed.data) ? [parsed.data] : [];
  });
  const [vmi] = vmis;
  if (vmi === undefined) return;
  const { nodeName } = vmi.status;
  const answer = await send({
    method: "PATCH",
    path: object(RESOURCE, vmi.metadata),
    query: { dryRun: "All" },
    contentType: "application/json-patch+json",
    as: kubevirtUser,
    body: [
      { op: "test", path: "/metadata/uid", value: vmi.metadata.uid },
      { op: "add", path: "/status/evacuationNodeName", value: nodeName },
    ],
  });
  const after = parseAnswer(Vmi, answer.body, "PATCH of a VMI");
  if (after.status.evacuationNodeName === nodeName) return;
  throw new ClusterError({ reason: "MarkNotKept", vmi: `${vmi.metadata.namespace}/${vmi.metadata.name}` });
}

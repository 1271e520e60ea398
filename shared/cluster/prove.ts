/** Whether Lifeboat is permitted to do what it will have to: tried by dry runs, which change nothing. */
import { Launcher, LAUNCHER_SELECTOR } from "./kinds/kubernetes.ts";
import * as patches from "./patches.ts";
import { object } from "./paths.ts";
import { readSome } from "./read.ts";
import type { Send } from "./transport.ts";
import { CHANGED, write } from "./write.ts";

const query = { dryRun: "All" };
/** Annotates a launcher pod with nothing. That the pod is gone or has changed is an answer too: it was permitted. */
export async function proveAnnotating(send: Send): Promise<void> {
  const [pod] = await readSome(send, "pods", Launcher, { labelSelector: LAUNCHER_SELECTOR, limit: "1" });
  if (pod === undefined) return;
  const body = patches.annotate({ verb: "AnnotatePod", pod, add: {}, remove: [] });
  await write(send, { method: "PATCH", path: object("pods", pod), query, body }, CHANGED);
}

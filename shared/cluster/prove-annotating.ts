/**
 * Whether launcher pods may be annotated: tried out by a dry run of a patch that changes nothing.
 * Owns: that proof. Does not own: annotating (act.ts).
 */
import { LAUNCHER_SELECTOR } from "./list-launchers.ts";
import { collection, object } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import { Launcher, Page } from "./schemas.ts";
import type { Send } from "./transport.ts";

/** Throws a ClusterError if it is not permitted. Without a launcher pod there is nothing to try it on. */
export async function proveAnnotating(send: Send): Promise<void> {
  const path = collection("pods");
  const { body } = await send({ method: "GET", path, query: { labelSelector: LAUNCHER_SELECTOR, limit: "1" } });
  const [pod] = parseAnswer(Page, body, `GET ${path}`).items;
  if (pod === undefined) return;
  const { metadata } = parseAnswer(Launcher, pod, `GET ${path}`);
  await send({
    method: "PATCH",
    path: object("pods", metadata),
    query: { dryRun: "All" },
    contentType: "application/json-patch+json",
    body: [{ op: "test", path: "/metadata/uid", value: metadata.uid }],
    // One that has gone meanwhile, or changes all the time, proves as much.
    expect: [404, 409, 422],
  });
}

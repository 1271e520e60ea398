/** Reads from the API server's metrics how many deletions Lifeboat did not review in time. */
import type { KubeClient } from "../../sandbox/index.ts";

const FAILED_OPEN = /^apiserver_admission_webhook_fail_open_count\{name="[^"]*lifeboat[^}]*\} (\d+)$/gm;

export async function unansweredIn(client: KubeClient): Promise<number> {
  // The client returns a body that is not JSON as the message of an object.
  const { body } = await client.raw({ method: "GET", path: "/metrics" });
  const { message = "" } = body as { readonly message?: string };
  return [...message.matchAll(FAILED_OPEN)].reduce((sum, [, count]) => sum + Number(count), 0);
}

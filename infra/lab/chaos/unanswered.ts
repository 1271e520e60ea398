/** Reads from the API server's metrics how many deletions Lifeboat did not review in time. */
import * as z from "zod/mini";
import type { KubeClient } from "../../sandbox/index.ts";

const FAILED_OPEN = /^apiserver_admission_webhook_fail_open_count\{name="[^"]*lifeboat[^}]*\} (\d+)$/gm;
/** The client returns a text that is not JSON as the message of an object. */
const Text = z.object({ message: z.string() });

export async function unansweredIn(client: KubeClient): Promise<number> {
  const { body } = await client.raw({ method: "GET", path: "/metrics" });
  return [...Text.parse(body).message.matchAll(FAILED_OPEN)].reduce((sum, [, count]) => sum + Number(count), 0);
}

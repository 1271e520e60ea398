/** Before any test: the Worker is bundled as it would be deployed, for those tests that run it in workerd. */
import { buildWorker } from "../../../infra/tools/build-worker.ts";

export async function setup(): Promise<void> {
  await buildWorker();
}

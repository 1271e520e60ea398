/** Before any test: the Worker and the image are bundled as they would be deployed, for those tests that run them. */
import { buildImage } from "../../../infra/tools/build-image.ts";
import { buildWorker } from "../../../infra/tools/build-worker.ts";

export async function setup(): Promise<void> {
  await Promise.all([buildWorker(), buildImage()]);
}

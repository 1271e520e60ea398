/** Bundles the Worker and the image before the tests that run them. */
import { buildImage } from "../../../infra/tools/build-image.ts";
import { buildWorker } from "../../../infra/tools/build-worker.ts";

export async function setup(): Promise<void> {
  await Promise.all([buildWorker(), buildImage()]);
}

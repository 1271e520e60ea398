/** Waiting for the cluster to do its part. */
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";

const LOOK_MS = 500;

/** `what`: what has not come about, should it not. */
export async function until<T>(
  what: string,
  { host, seconds = 60 }: { readonly host: Host; readonly seconds?: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const last = host.now().getTime() + seconds * 1000;
  while (host.now().getTime() <= last && !host.interrupted.aborted) {
    const found = await look();
    if (found !== undefined) return found;
    await host.wait(LOOK_MS);
  }
  throw new Failed(`${what}, after ${seconds} s`);
}

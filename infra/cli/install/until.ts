/** Waiting for the cluster to do its part. */
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";

const LOOK_MS = 500;

interface Waiting {
  readonly host: Host;
  readonly seconds?: number;
  /** Milliseconds between two looks. */
  readonly every?: number;
}

/** `what`: what has not come about, should it not. */
export async function until<T>(
  what: string | (() => string),
  { host, seconds = 60, every = LOOK_MS }: Waiting,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const last = host.now().getTime() + seconds * 1000;
  while (host.now().getTime() <= last && !host.interrupted.aborted) {
    const found = await look();
    if (found !== undefined) return found;
    await host.wait(every);
  }
  throw new Failed(`${typeof what === "string" ? what : what()}, after ${seconds} s`);
}

/** Replaces the network. A request reaches only fake clusters and servers on this machine. */
import type { Fetch } from "../../../shared/kube/transport.ts";

const served = new Map<string, Fetch>();

export function serve(fetch: Fetch): string {
  const host = `cluster-${served.size}.example`;
  served.set(host, fetch);
  return `https://${host}`;
}

export async function reach(address: string, init: RequestInit = {}): Promise<Response> {
  const { host, hostname } = new URL(address);
  if (hostname === "127.0.0.1") return await fetch(address, init);
  const its = served.get(host);
  if (its === undefined) throw new TypeError("the network is unreachable");
  return await its(address, init);
}

/** Waits for the promise. Rejects when the signal aborts, as `fetch` does. */
export async function orAborted(waiting: Promise<unknown>, signal: AbortSignal | null | undefined): Promise<unknown> {
  if (!signal) return await waiting;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([waiting, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

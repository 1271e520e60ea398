/**
 * The Worker, as an installation sees it: does it know the cluster, is it ready, has it looked at everything?
 * Owns: those questions. Does not own: its entry (worker-entry.ts), deploying it.
 */
import * as z from "zod/mini";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import type { WorkerEntry } from "./worker-entry.ts";

export interface Worker extends WorkerEntry {
  /** With the cluster's path, without a trailing slash. */
  readonly url: string;
}

const Readyz = z.object({
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.optional(z.string()) })),
});
const Scanned = z.object({ failures: z.number(), left: z.optional(z.number()) });
const LOOK_MS = 5000;
const SCAN_MS = 1000;

/** How it stands: `Ready`, `Unknown` cluster, or what is wrong. */
export async function askReadyz(worker: Worker): Promise<"Ready" | "UnknownCluster" | readonly string[]> {
  const { code, body } = await ask(worker, "GET", "/readyz", worker.operatorToken);
  if (code === 200) return "Ready";
  if (code === 401 || code === 404) return "UnknownCluster";
  const checks = Readyz.safeParse(body);
  if (!checks.success) return [`${worker.url}/readyz answers ${code}`];
  return checks.data.checks.filter(({ ok }) => !ok).map(({ name, message = "failed" }) => `${name}: ${message}`);
}

interface Waiting {
  readonly host: Host;
  readonly seconds: number;
}

/** Until the Worker knows the cluster and can work in it. `onUnknown` is told once, and so is what is wrong. */
export async function untilReady(
  worker: Worker,
  { host, seconds, onUnknown }: Waiting & { readonly onUnknown: () => void },
): Promise<void> {
  const until = host.now().getTime() + seconds * 1000;
  let told = "";
  while (!host.interrupted.aborted) {
    const found = await askReadyz(worker);
    if (found === "Ready") return;
    const why = found === "UnknownCluster" ? "it does not know this cluster, or this entry of it" : found.join("; ");
    if (why !== told && found === "UnknownCluster") onUnknown();
    else if (why !== told) host.stderr.write(`The Worker is not ready yet: ${why}\n`);
    told = why;
    if (host.now().getTime() > until) throw new Failed(`the Worker is not ready: ${why}`);
    await host.wait(LOOK_MS);
  }
}

/** The first full scan, in as many requests as it takes. */
export async function scanAll(worker: Worker, { host, seconds }: Waiting): Promise<void> {
  const until = host.now().getTime() + seconds * 1000;
  while (!host.interrupted.aborted) {
    const { code, body } = await ask(worker, "POST", "/reconcile", worker.webhookToken);
    const scanned = Scanned.safeParse(body);
    if (!scanned.success || (code !== 200 && code !== 202))
      throw new Failed(`the first full scan: the Worker answers ${code}`);
    const { failures, left = 0 } = scanned.data;
    if (code === 200 && failures === 0) return;
    if (code === 200) throw new Failed(`the first full scan failed ${failures} times; the Worker's log says why`);
    host.stderr.write(`  ${left} left to look at\n`);
    if (host.now().getTime() > until) throw new Failed(`the first full scan has not ended: ${left} left to look at`);
    await host.wait(SCAN_MS);
  }
}

async function ask({ url }: Worker, method: string, path: string, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(30_000);
  const answer = await fetch(`${url}${path}`, { method, headers, signal }).catch((cause: unknown) => {
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    throw new Failed(`the Worker cannot be reached at ${url}: ${why}`, { cause });
  });
  const body: unknown = await answer.json().catch(() => undefined);
  return { code: answer.status, body };
}

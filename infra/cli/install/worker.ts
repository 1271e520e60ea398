/** The Worker during an installation: whether it knows the cluster, is ready, and has read every VM. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { rootCertificates } from "node:tls";
import * as z from "zod/mini";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { printable } from "../print.ts";
import { until } from "./apply.ts";
import type { WorkerEntry } from "./worker-entry.ts";

export interface Worker extends WorkerEntry {
  /** The URL with the cluster's path, without a trailing slash. */
  readonly url: string;
  /** PEM of the authority of its certificate, if the authority is not public. */
  readonly ca?: string;
}

const Readyz = z.object({ message: z.string() });
const Scanned = z.object({ failures: z.number(), left: z.optional(z.number()) });
const READYZ_MS = 30_000;
/** The longest quotation, because another program may answer at that address. */
const LONGEST = 300;

interface Waiting {
  readonly host: Host;
  readonly seconds: number;
}

/**
 * Waits until the Worker knows the cluster and can work in it. Calls `onUnknown` once, and prints each problem once.
 */
export async function untilReady(
  worker: Worker,
  { host, seconds, onUnknown }: Waiting & { readonly onUnknown: () => void },
): Promise<void> {
  let why: string | undefined;
  await until(
    () => `the Worker is not ready: ${why}`,
    { host, seconds },
    async () => {
      const said = why;
      why = await whyNotReady(worker, host);
      if (why === undefined) return true;
      if (why !== said && why === UNKNOWN) onUnknown();
      else if (why !== said) host.stderr.write(`The Worker is not ready yet: ${why}\n`);
      return undefined;
    },
  );
}

const UNKNOWN = "it does not know this cluster, or this entry of it";

async function whyNotReady(worker: Worker, host: Host): Promise<string | undefined> {
  const asking = { worker, host, ms: READYZ_MS };
  const { code, body, said } = await ask("GET /readyz", { ...asking, token: worker.operatorToken });
  if (code === 401 || code === 404) return UNKNOWN;
  if (code !== 200) return `${worker.url}/readyz answers ${code}: ${Readyz.safeParse(body).data?.message ?? said}`;
  // This is no review: it only shows whether the endpoint of the webhook accepts the token.
  const review = await ask("POST /admission/evictions", { ...asking, token: worker.webhookToken });
  return review.code === 401 ? UNKNOWN : undefined;
}

/** Requests the first full scan, in as many requests as necessary. Each may take all of the remaining time. */
export async function askForScan(worker: Worker, { host, seconds }: Waiting): Promise<void> {
  const last = host.now().getTime() + seconds * 1000;
  await until("the first full scan has not ended", { host, seconds }, async () => {
    const ms = Math.max(1, last - host.now().getTime());
    const { code, body } = await ask("POST /reconcile", { worker, host, ms, token: worker.webhookToken });
    const scanned = Scanned.safeParse(body);
    if (!scanned.success || (code !== 200 && code !== 202))
      throw new Failed(`the first full scan: the Worker answers ${code}`);
    const { failures, left = 0 } = scanned.data;
    if (code === 202) return void host.stderr.write(`  ${left} left to check\n`);
    if (failures > 0) throw new Failed(`the first full scan failed ${failures} times; the Worker's log says why`);
    return true;
  });
}

interface Asking {
  readonly worker: Worker;
  readonly host: Host;
  readonly token: string;
  readonly ms: number;
}

/**
 * Sends a request. `fetch` is not used: it accepts no authority, and gives up if no answer starts within five minutes.
 */
async function ask(what: string, { worker: { url, ca }, host, token, ms }: Asking) {
  const [method = "", path = ""] = what.split(" ");
  const late = AbortSignal.timeout(ms);
  const options = {
    method,
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([host.interrupted, late]),
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
  };
  try {
    return await new Promise<{ readonly code: number; readonly body: unknown; readonly said: string }>(
      (resolve, reject) => {
        request(`${url}${path}`, options, (answer) => {
          text(answer).then(
            (body) =>
              resolve({ code: answer.statusCode ?? 0, body: parsed(body), said: printable(body).slice(0, LONGEST) }),
            reject,
          );
        })
          .on("error", reject)
          .end();
      },
    );
  } catch (cause) {
    if (late.aborted) throw new Failed(`the Worker has not answered ${what} within ${ms / 1000} s`, { cause });
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Failed(`the Worker cannot be reached at ${url}: ${why}`, { cause });
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

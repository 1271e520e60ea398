/** Checks the Worker during an installation: whether it knows the cluster, is ready, and has read every VM. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { rootCertificates } from "node:tls";
import * as z from "zod/mini";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { printable } from "../print.ts";
import { until } from "./apply.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import type { WorkerEntry } from "./worker-entry.ts";

export interface Worker extends WorkerEntry {
  /** The URL with the cluster's path, without a trailing slash. */
  readonly url: string;
  /** The CA of the Worker's certificate in PEM, if the CA is not public. */
  readonly ca?: string;
}

const Readyz = z.object({ message: z.string() });
const Scanned = z.object({ failures: z.number(), left: z.optional(z.number()) });
const READYZ_MS = 30_000;
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
    () => MESSAGES.workerUnready(why),
    { host, seconds },
    async () => {
      const said = why;
      why = await whyNotReady(worker, host);
      if (why === undefined) return true;
      if (why !== said && why === MESSAGES.workerUnknowing) onUnknown();
      else if (why !== said) host.stderr.write(MESSAGES.workerNotYetReady(why));
      return undefined;
    },
  );
}

async function whyNotReady(worker: Worker, host: Host): Promise<string | undefined> {
  const asking = { worker, host, ms: READYZ_MS };
  const { code, body, said } = await ask("GET /readyz", { ...asking, token: worker.operatorToken });
  if (code === 401 || code === 404) return MESSAGES.workerUnknowing;
  if (code !== 200)
    return MESSAGES.workerAnswers(`${worker.url}/readyz`, code, Readyz.safeParse(body).data?.message ?? said);
  // This request is not a review. It shows whether the endpoint accepts the token.
  const review = await ask("POST /admission/evictions", { ...asking, token: worker.webhookToken });
  return review.code === 401 ? MESSAGES.workerUnknowing : undefined;
}

/** Asks the Worker for the first full scan. Repeats the request until the scan is finished. */
export async function askForScan(worker: Worker, { host, seconds }: Waiting): Promise<void> {
  const last = host.now().getTime() + seconds * 1000;
  await until(MESSAGES.scanNotEnded, { host, seconds }, async () => {
    const ms = Math.max(1, last - host.now().getTime());
    const { code, body } = await ask("POST /reconcile", { worker, host, ms, token: worker.webhookToken });
    const scanned = Scanned.safeParse(body);
    if (!scanned.success || (code !== 200 && code !== 202)) throw new Failed(MESSAGES.scanRefused(code));
    const { failures, left = 0 } = scanned.data;
    if (code === 202) return void host.stderr.write(MESSAGES.scanLeft(left));
    if (failures > 0) throw new Failed(MESSAGES.scanFailed(failures));
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
 * Sends a request. Does not use `fetch`, because `fetch` has no option for a CA. `fetch` also fails if no answer starts
 * within five minutes.
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
    if (late.aborted) throw new Failed(MESSAGES.workerSilent(what, ms / 1000), { cause });
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Failed(MESSAGES.workerUnreachable(url, why), { cause });
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/**
 * Workers of one cluster that come and go: each is an entry of the registry of a workerd that stays up.
 *
 * Whatever an isolate remembers, it remembers by the cluster's name: under a new name it is a new Worker.
 */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { createSecureContext } from "node:tls";
import * as z from "zod/mini";
import { tickTime } from "../stage/tick-times.ts";
import { type RunningWorker, startWorker } from "../stage/worker.ts";
import type { Authority } from "../../sandbox/certificates.ts";
import { buildWorker } from "../../tools/build-worker.ts";
import type { Answering } from "./front.ts";
import type { Link, LinkOptions } from "./link.ts";
import type { Links } from "./links.ts";
import { persist } from "./persist.ts";

export interface Instance extends Answering {
  readonly link: Link;
  readonly skewSeconds: number;
  /** Asks one of its doors for this cluster; throws if there is no answer. */
  ask(method: "GET" | "POST" | "DELETE", path: string): Promise<number>;
  /** Its cron trigger fires: for a full scan, or for what is under way. */
  tick(kind: "full" | "small"): Promise<void>;
}

export interface Instances {
  start(skewSeconds: number, options?: Pick<LinkOptions, "onDeath">): Promise<Instance>;
  /** Cut off at once, forgotten soon after. */
  end(instance: Instance): Promise<void>;
  stop(): Promise<void>;
}

export interface InstancesOptions {
  readonly authority: Authority;
  readonly links: Links;
  /** The service account's. */
  readonly token: string;
  readonly webhookToken: string;
  readonly relaySecret: string;
  readonly onLog?: (line: string) => void;
}

const PATIENCE_MS = 60_000;

/** The end of a run waits for all that was asked in it. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}

const SHIFTED_CLOCK = "infra/lab/chaos/workers/shifted-clock.ts";

export async function startInstances(options: InstancesOptions): Promise<Instances> {
  const { authority, links, token, webhookToken, relaySecret, onLog } = options;
  const workers = new Map<number, Promise<RunningWorker>>();
  const agent = new Agent({ keepAlive: true, secureContext: createSecureContext({ ca: authority.caPem }) });
  let count = 0;

  /** What is deployed, unless its clock is to be wrong. */
  const startWith = async (skewSeconds: number): Promise<RunningWorker> => {
    const bundle = await buildWorker(...(skewSeconds === 0 ? [] : [SHIFTED_CLOCK]));
    const variables = { CLOCK_SKEW_SECONDS: String(skewSeconds) };
    return await startWorker({
      authority,
      clusters: {},
      registry: true,
      bundle,
      ...(skewSeconds !== 0 && { variables }),
      ...(onLog && { onLog }),
    });
  };
  const workerWith = (skewSeconds: number): Promise<RunningWorker> => {
    const worker = workers.get(skewSeconds) ?? startWith(skewSeconds);
    workers.set(skewSeconds, worker);
    return worker;
  };

  return {
    async start(skewSeconds, linkOptions) {
      const worker = await workerWith(skewSeconds);
      count += 1;
      const name = `worker-${count}`;
      const { link, url: server } = links.open(name, linkOptions);
      // Miniflare is asked over a connection of its own, which may break as any other: that is no fault of the run's.
      await persist(() => worker.registry.set(name, { server, token, webhookToken, relaySecret }));
      const doors = `/clusters/${name}`;
      return {
        name,
        url: `${worker.url}${doors}`,
        link,
        skewSeconds,
        async ask(method, path) {
          const headers = { authorization: `Bearer ${webhookToken}` };
          const asked = request(`${worker.url}${doors}${path}`, { method, headers, agent, signal: soon() }).end();
          const [answer] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asked, "response"));
          answer.resume();
          return answer.statusCode ?? 0;
        },
        tick: (kind) => worker.scheduled(tickTime(name, kind)),
      };
    },
    async end({ name, link, skewSeconds }) {
      links.close(link);
      const { registry } = await workerWith(skewSeconds);
      await persist(() => registry.remove(name));
    },
    async stop() {
      agent.destroy();
      for (const worker of workers.values()) await (await worker).stop();
    },
  };
}

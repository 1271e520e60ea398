/**
 * Replicas of the in-cluster form that come and go: each is the whole server, in this process.
 *
 * A replica that is killed cannot reach the API server any more, nor be reached: nothing that it has in mind happens. It starts again under
 * its name, as a container does in its pod.
 */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import * as z from "zod/mini";
import type { Clock } from "../../relay/clock.ts";
import { kubeconfigOf } from "../../sandbox/kubeconfig.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { HOST } from "../../server/names.ts";
import { type Server, startServer } from "../../server/server.ts";
import { type Instance, type Instances, soon } from "./instances.ts";
import type { Links } from "./links.ts";

export interface ReplicasOptions {
  readonly sandbox: Sandbox;
  readonly links: Links;
  /** The service account's, of this moment. */
  readonly token: () => string;
  /** For its watches: client-node reads a token again when a run is long over. */
  readonly watching: string;
  readonly doorsToken: string;
  readonly onLog?: (line: string) => void;
}

export const CLUSTER = "local";
const DOORS = `/clusters/${CLUSTER}`;

export function createReplicas({ sandbox, links, token, watching, doorsToken, onLog }: ReplicasOptions): Instances {
  // As a person who forwards a port.
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const servers = new Map<string, Server>();
  /** Of pods without a process. */
  const free: string[] = [];
  let count = 0;

  return {
    async start(skewSeconds, linkOptions) {
      const name = free.pop() ?? `lifeboat-server-${++count}`;
      const { link, url: server } = links.open(name, linkOptions);
      const credentials = { url: sandbox.url, caPem: sandbox.caPem, user: name, token: watching };
      const opened = Promise.withResolvers<number>();
      const running = await startServer({
        environment: { cluster: CLUSTER, identity: name, httpsPort: 0, port: 0, root: "" },
        account: { server, kubeConfig: kubeconfigOf(credentials), token },
        clock: clockOf(skewSeconds),
        log(level, message, details = {}) {
          if (message === "serving") opened.resolve(Number(details["port"]));
          onLog?.(JSON.stringify({ replica: name, level, message, ...details }));
        },
        onFatal: opened.reject,
      });
      servers.set(name, running);
      const url = `https://127.0.0.1:${await opened.promise}`;
      return {
        name,
        url,
        link,
        skewSeconds,
        async ask(method, path) {
          const headers = { authorization: `Bearer ${doorsToken}` };
          const asked = request(`${url}${DOORS}${path}`, {
            method,
            headers,
            agent,
            servername: HOST,
            signal: soon(),
          }).end();
          const [answer] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asked, "response"));
          answer.resume();
          return answer.statusCode ?? 0;
        },
        // Small ones it has by itself.
        async tick(kind) {
          if (kind === "full") await this.ask("POST", "/reconcile");
        },
      } satisfies Instance;
    },
    async end({ name, link }) {
      const server = servers.get(name);
      servers.delete(name);
      // It may also die while it ends.
      const wasDead = link.isDead;
      if (wasDead) free.push(name);
      await server?.stop();
      if (!wasDead) free.push(name);
      links.close(link);
    },
    stop: () => Promise.resolve(agent.destroy()),
  };
}

/** Renewals of the Lease, and leaving. */
const SECONDS_5_MS = 5000;
/** Until the next full minute. */
const LONG_MS = 30_000;
const SPEED = 20;

/** What a replica waits longest for comes many times in a run, as it does in a drain. */
function clockOf(skewSeconds: number): Clock {
  return {
    now: () => new Date(Date.now() + skewSeconds * 1000),
    setTimer(ms, fn) {
      const isFaster = ms === SECONDS_5_MS || ms > LONG_MS;
      const timer = setTimeout(fn, isFaster ? ms / SPEED : ms);
      return () => clearTimeout(timer);
    },
  };
}

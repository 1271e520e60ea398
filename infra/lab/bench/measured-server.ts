/** The server in the cluster, in a process of its own: what it uses, and reviews sent to its door. */
import { Agent, request } from "node:https";
import * as z from "zod";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { secrets } from "../../sandbox/actors/resources.ts";
import { SERVER } from "../stage/in-cluster.ts";
import type { MeasuredApiServer } from "./api-server.ts";
import { startChild } from "./child.ts";
import { checkAnswer, reviewOf } from "./reviews.ts";

export const ServerSchema = z.object({
  url: z.string(),
  caPem: z.string(),
  /** Of its account: another one every hour. */
  tokens: z.array(z.string()),
  /** Whether its clock leaves out waiting. */
  isJumping: z.boolean(),
});

const Ready = z.object({ ready: z.number(), port: z.number() });
const Usage = z.object({
  rss: z.number(),
  peakRss: z.number(),
  heapUsed: z.number(),
  cpuMs: z.number(),
  requests: z.number(),
  /** In which it has looked for what is under way. */
  minutes: z.number(),
  now: z.number(),
  elapsedMs: z.number(),
  problems: z.array(z.tuple([z.string(), z.number()])),
});
export type Usage = z.output<typeof Usage>;

export interface MeasuredServer {
  /** Seconds from the start of the process until it has served its doors. */
  readonly ready: number;
  /** Of its doors. */
  readonly port: number;
  /** Live heap: after full collections. */
  usage(): Promise<Usage>;
  /** Without collections: as it is. */
  glance(): Promise<Usage>;
  /** A first eviction of this launcher pod, over a connection of its own; in milliseconds. */
  review(pod: { readonly namespace: string; readonly name: string }): Promise<number>;
  stop(): Promise<void>;
}

/** As in infra/Dockerfile, and collections on request. */
const NODE_OPTIONS = ["--expose-gc", "--max-old-space-size=256", "--max-semi-space-size=4"];

export async function startMeasuredServer(api: MeasuredApiServer, isJumping = false): Promise<MeasuredServer> {
  const { url, caPem, lifeboatTokens: tokens, client } = api;
  const child = startChild("server-process.ts", { url, caPem, tokens, isJumping }, NODE_OPTIONS);
  const { ready, port } = await child.next(Ready);
  const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  const door = `/clusters/local/admission/evictions/${await webhookToken(client)}?timeout=10s`;
  return {
    ready,
    port,
    usage: () => child.ask("usage", Usage),
    glance: () => child.ask("glance", Usage),
    async review(pod) {
      const begin = performance.now();
      const answer = await post({ agent, port, path: door }, reviewOf(pod));
      checkAnswer("first", answer);
      return performance.now() - begin;
    },
    stop: () => child.stop(),
  };
}

async function webhookToken(client: KubeClient): Promise<string> {
  const { data = {} } = (await client.get(secrets, SERVER)) ?? {};
  return Buffer.from(data["webhookToken"] ?? "", "base64").toString();
}

interface Door {
  readonly agent: Agent;
  readonly port: number;
  readonly path: string;
}

function post(door: Door, body: string): Promise<{ readonly code: number; readonly text: string }> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...door, host: "127.0.0.1", method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject).on("end", () => resolve({ code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(body);
  });
}

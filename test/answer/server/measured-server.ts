/** The server in the cluster, in a process of its own as the image runs it: what it uses, and reviews sent to it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:https";
import { fileURLToPath } from "node:url";
import * as z from "zod/mini";
import { secrets } from "../../../infra/sandbox/index.ts";
import { SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import type { MeasuredApiServer } from "../../../infra/lab/bench/api-server.ts";
import { checkAnswer, reviewOf } from "../../../infra/lab/bench/reviews.ts";

export const Arguments = z.object({ url: z.string(), caPem: z.string(), token: z.string() });
const Ready = z.object({ port: z.number() });
const Usage = z.object({ rss: z.number() });

export interface MeasuredServer {
  readonly port: number;
  /** In bytes. */
  rss(): Promise<number>;
  /** A first eviction of this launcher pod, over a connection of its own; in milliseconds. */
  review(pod: { readonly namespace: string; readonly name: string }): Promise<number>;
  stop(): Promise<void>;
}

/** As in infra/Dockerfile. */
const NODE_OPTIONS = ["--max-old-space-size=256", "--max-semi-space-size=4"];

export async function startMeasuredServer(api: MeasuredApiServer): Promise<MeasuredServer> {
  const { url, caPem, lifeboatToken: token, client } = api;
  const child = fork(
    fileURLToPath(new URL("server-process.ts", import.meta.url)),
    [JSON.stringify({ url, caPem, token })],
    // As in the image: compiled code that is kept in files takes memory, too.
    { execArgv: NODE_OPTIONS, env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" } },
  );
  const next = async <S extends z.ZodMiniType>(schema: S) => schema.parse((await once(child, "message"))[0]);
  const { port } = await next(Ready);
  const { data = {} } = (await client.get(secrets, SERVER)) ?? {};
  const webhookToken = Buffer.from(data["webhookToken"] ?? "", "base64").toString();
  const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  const path = `/clusters/local/admission/evictions/${webhookToken}?timeout=10s`;
  return {
    port,
    async rss() {
      child.send("rss");
      return (await next(Usage)).rss;
    },
    async review(pod) {
      const begin = performance.now();
      checkAnswer("first", await post({ agent, port, path }, reviewOf(pod)));
      return performance.now() - begin;
    },
    async stop() {
      const end = once(child, "exit");
      child.kill();
      await end;
    },
  };
}

interface Endpoint {
  readonly agent: Agent;
  readonly port: number;
  readonly path: string;
}

function post(to: Endpoint, body: string): Promise<{ readonly code: number; readonly text: string }> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...to, host: "127.0.0.1", method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject).on("end", () => resolve({ code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(body);
  });
}

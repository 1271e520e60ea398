/** Runs Lifeboat's server as its container image does, in a separate process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";
import { secrets } from "../../sandbox/index.ts";
import { IMAGE_FOLDER } from "../../tools/build-image.ts";
import { imageArguments, SERVER } from "../stage/in-cluster.ts";
import type { MeasuredApiServer } from "./api-server.ts";
import { cpuMsOf, memoryOf } from "./processes.ts";
import { type TimedAnswer, timed } from "./timed.ts";

export interface ImageServer {
  readonly port: number;
  /** The time from the server's start to its first answer, in milliseconds. */
  readonly startMs: number;
  review(body: string, agent?: Agent): Promise<TimedAnswer>;
  scan(): Promise<unknown>;
  cpuMs(): Promise<number>;
  /** The resident memory, in millions of bytes. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

const ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";
const KEPT = new Agent({ keepAlive: true, timeout: 1000, rejectUnauthorized: false });

/** Starts the server from its image. Before this call, the image must be built and the manifests must be applied. */
export async function startImageServer(api: MeasuredApiServer): Promise<ImageServer> {
  const root = await mkdtemp(join(tmpdir(), "lifeboat-pod-"));
  await mkdir(join(root, ACCOUNT), { recursive: true });
  await writeFile(join(root, ACCOUNT, "token"), api.lifeboatToken);
  await writeFile(join(root, ACCOUNT, "ca.crt"), api.caPem);
  const { hostname, port: apiPort } = new URL(api.url);
  const env = { POD_NAME: `measured-${process.pid}`, POD_ROOT: root, HTTPS_PORT: "0", PORT: "0" };
  const started = performance.now();
  const child = spawn(process.execPath, [...imageArguments()], {
    cwd: IMAGE_FOLDER,
    env: { ...env, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: apiPort },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = once(child, "exit");
  const port = await portIn(createInterface(child.stdout));
  const startMs = performance.now() - started;
  // Reads the remaining output, because a full pipe would block the server.
  child.stdout.resume();
  const { data = {} } = (await api.client.get(secrets, SERVER)) ?? {};
  const token = Buffer.from(data["webhookToken"] ?? "", "base64").toString();
  const path = `/clusters/local/admission/evictions/${token}?timeout=10s`;
  return {
    port,
    startMs,
    review: (body, agent = KEPT) => timed(request, { host: "127.0.0.1", port, path, agent }, body),
    scan: () => {
      const reconcile = { host: "127.0.0.1", port, path: "/clusters/local/reconcile", agent: KEPT };
      return timed(request, reconcile, "", { authorization: `Bearer ${token}` });
    },
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    memory: () => memoryOf(child.pid ?? 0),
    async stop() {
      child.kill();
      await end;
      await rm(root, { recursive: true });
    },
  };
}

const Line = z.object({ message: z.string(), port: z.number().optional() });

async function portIn(lines: AsyncIterable<string>): Promise<number> {
  for await (const line of lines) {
    const { message, port } = Line.parse(JSON.parse(line));
    if (message === "serving" && port !== undefined) return port;
  }
  throw new Error("the server exited before it accepted requests");
}

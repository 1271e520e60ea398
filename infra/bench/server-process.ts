/**
 * Lifeboat in the cluster, as a child of the benchmark: the server that is shipped, on a clock that may run faster.
 * Owns: the clock, telling what the process uses. Does not own: the server (infra/server), the cluster.
 */
import { setDefaultCACertificates } from "node:tls";
import { KubeConfig } from "@kubernetes/client-node";
import * as z from "zod";
import type { Clock } from "../relay/clock.ts";
import { startServer } from "../server/server.ts";
import { argumentOf, say } from "./child.ts";

const { url, caPem, token, speed } = argumentOf(
  z.object({ url: z.string(), caPem: z.string(), token: z.string(), speed: z.number() }),
);
setDefaultCACertificates([caPem]);

const begun = Date.now();
const clock: Clock = {
  now: () => new Date(begun + (Date.now() - begun) * speed),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms / speed);
    return () => clearTimeout(timer);
  },
};

const kubeConfig = new KubeConfig();
kubeConfig.loadFromClusterAndUser(
  { name: "bench", server: url, caData: Buffer.from(caPem).toString("base64"), skipTLSVerify: false },
  { name: "bench", token },
);

const problems = new Map<string, number>();
const beganCpu = process.cpuUsage();
await startServer({
  environment: { cluster: "local", identity: `bench-${process.pid}`, httpsPort: 0, port: 0, root: "" },
  account: { server: url, kubeConfig, token: () => token },
  clock,
  log: (level, message, { doing = "", reason = "" } = {}) => {
    const told = [message, doing, reason].map(String).join(" ").trim();
    if (level === "error") problems.set(told, (problems.get(told) ?? 0) + 1);
    if (message === "serving") say({ ready: process.uptime() });
  },
  onFatal: (error) => {
    throw error;
  },
});

/** Twice: what a first collection finds to be finalised goes with the second. */
function collect(): void {
  globalThis.gc?.();
  globalThis.gc?.();
}

process.on("message", () => {
  const { user, system } = process.cpuUsage(beganCpu);
  const { rss } = process.memoryUsage();
  collect();
  const { heapUsed } = process.memoryUsage();
  const days = (clock.now().getTime() - begun) / 86_400_000;
  say({ rss, heapUsed, cpuMs: (user + system) / 1000, days, problems: [...problems] });
});

/**
 * Lifeboat in the cluster, as a child of the benchmark: the server that is shipped, on the real clock or on one that leaves out waiting.
 */
import { subscribe } from "node:diagnostics_channel";
import { setDefaultCACertificates } from "node:tls";
import { KubeConfig } from "@kubernetes/client-node";
import * as z from "zod/mini";
import { systemClock } from "../../relay/clock.ts";
import { startServer } from "../../server/server.ts";
import { argumentOf, say } from "./child.ts";
import { createJumpingClock } from "./jumping-clock.ts";
import { ServerSchema } from "./measured-server.ts";

const { url, caPem, tokens, isJumping } = argumentOf(ServerSchema);
setDefaultCACertificates([caPem]);

const underWay = new Set<unknown>();
let [requests, minutes, minute] = [0, 0, -1];
const jumping = createJumpingClock(() => underWay.size > 0);
const clock = isJumping ? jumping : systemClock;
const begun = clock.now().getTime();
const elapsedMs = () => clock.now().getTime() - begun;

const Told = z.object({ request: z.looseObject({ path: z.string() }) });

// What Node itself says of each fetch.
subscribe("undici:request:create", (message) => {
  const { path } = Told.parse(message).request;
  requests += 1;
  // One that never ends is not waited for.
  if (!path.includes("watch=true")) underWay.add(requestOf(message));
  if (path.startsWith(UNDER_WAY)) countMinute();
});
const answered = (message: unknown) => {
  if (underWay.delete(requestOf(message))) jumping.settle();
};
subscribe("undici:request:trailers", answered);
subscribe("undici:request:error", answered);

/** The same object from its beginning to its end. */
function requestOf(message: unknown): unknown {
  return typeof message === "object" && message !== null && "request" in message ? message.request : undefined;
}

/** Every tick looks for what is under way, and little else does. */
const UNDER_WAY = "/apis/lifeboat.dev/v1alpha1/evacuations?limit=";

function countMinute(): void {
  const now = Math.floor(elapsedMs() / 60_000);
  if (now > minute) minutes += 1;
  minute = now;
}

const HOUR_MS = 3_600_000;
/** The kubelet renews the token of an hour; the API server knows all of them. */
const token = () => tokens[Math.floor(elapsedMs() / HOUR_MS) % tokens.length] ?? "";
const kubeConfig = new KubeConfig();
kubeConfig.loadFromClusterAndUser(
  { name: "bench", server: url, caData: Buffer.from(caPem).toString("base64"), skipTLSVerify: false },
  { name: "bench", token: token() },
);

const problems = new Map<string, number>();
await startServer({
  environment: { cluster: "local", identity: `bench-${process.pid}`, httpsPort: 0, port: 0, root: "" },
  account: { server: url, kubeConfig, token },
  clock,
  log: (level, message, { doing = "", reason = "", port } = {}) => {
    const told = [message, doing, reason].map(String).join(" ").trim();
    if (level === "error") problems.set(told, (problems.get(told) ?? 0) + 1);
    if (message === "serving") say({ ready: process.uptime(), port });
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

process.on("message", (question) => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const { rss } = process.memoryUsage();
  if (question === "usage") collect();
  const { heapUsed } = process.memoryUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  const used = { rss, peakRss: maxRSS * 1024, heapUsed, cpuMs, requests, minutes };
  say({ ...used, now: clock.now().getTime(), elapsedMs: elapsedMs(), problems: [...problems] });
});
process.on("disconnect", () => process.exit());

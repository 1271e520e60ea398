/** The sandbox's API server alone in a process, as a child of the benchmark. */
import * as z from "zod";
import { FaultPlan, startApiServer } from "../../sandbox/apiserver/server.ts";
import { createAuthority } from "../../sandbox/certificates.ts";
import { KUBEVIRT_DEFINITIONS } from "../../sandbox/kubevirt/kinds.ts";
import { argumentOf, say } from "./child.ts";
import { startSlowNetwork } from "./slow-network.ts";

const { tokens, roundTripMs, ageSeconds } = argumentOf(
  z.object({
    tokens: z.record(z.string(), z.object({ user: z.string(), groups: z.array(z.string()) })),
    roundTripMs: z.array(z.number()),
    ageSeconds: z.number(),
  }),
);

/** Every request draws its faults, of which there are none here. */
class CountingPlan extends FaultPlan {
  requests = 0;

  override draw(...request: Parameters<FaultPlan["draw"]>) {
    this.requests += 1;
    return super.draw(...request);
  }
}

const faults = new CountingPlan();
const authority = await createAuthority("lifeboat-bench");
const now = () => new Date(Date.now() - ageSeconds * 1000);
const server = await startApiServer({ authority, tokens, definitions: KUBEVIRT_DEFINITIONS, faults, now });
const slow = await Promise.all(roundTripMs.map((ms) => startSlowNetwork(server.port, ms)));
say({ url: server.url, caPem: authority.caPem, slowUrls: slow.map((port) => `https://127.0.0.1:${port}`) });

async function answer(question: unknown): Promise<void> {
  if (question === "restart") {
    await server.suspend();
    await server.resume();
  }
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const { rss, heapUsed } = process.memoryUsage();
  say({
    rss,
    heapUsed,
    peakRss: maxRSS * 1024,
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    requests: faults.requests,
  });
}
process.on("message", (question) => void answer(question));
process.on("disconnect", () => process.exit());

/** Runs the sandbox's API server as a child process of the benchmark. */
import * as z from "zod";
import { createAuthority, KUBEVIRT_DEFINITIONS, startApiServer } from "../../sandbox/index.ts";
import { argumentOf, say } from "./child.ts";

const tokens = argumentOf(z.record(z.string(), z.object({ user: z.string(), groups: z.array(z.string()) })));
const authority = await createAuthority("lifeboat-bench");
const { url, faults } = await startApiServer({ authority, tokens, definitions: KUBEVIRT_DEFINITIONS });
say({ url, caPem: authority.caPem });
const Delay = z.object({ milliseconds: z.number(), user: z.string() });
process.on("message", (message) => {
  const { milliseconds, user } = Delay.parse(message);
  faults.clear();
  faults.inject({ match: { users: [user] }, effect: { type: "Latency", milliseconds } });
});
process.on("disconnect", () => process.exit());

/** The sandbox's API server alone in a process, as a child of the benchmark. */
import * as z from "zod";
import { createAuthority, KUBEVIRT_DEFINITIONS, startApiServer } from "../../sandbox/index.ts";
import { argumentOf, say } from "./child.ts";

const tokens = argumentOf(z.record(z.string(), z.object({ user: z.string(), groups: z.array(z.string()) })));
const authority = await createAuthority("lifeboat-bench");
const { url } = await startApiServer({ authority, tokens, definitions: KUBEVIRT_DEFINITIONS });
say({ url, caPem: authority.caPem });
process.on("disconnect", () => process.exit());

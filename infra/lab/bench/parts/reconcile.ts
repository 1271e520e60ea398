/** What looking at everything costs, and looking when there is nothing to do. */
import * as z from "zod";
import { numbered } from "../../../tools/in-parallel.ts";
import { applyAsCommand, plannedFor } from "../../stage/apply.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { startChild } from "../child.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";
import { createBudgets, createFinishedMigrations, createPlaces, createVms } from "../population.ts";

const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
const Pass = z.object({ requests: z.number(), cpuMs: z.number(), read: z.array(z.string()) });
type Pass = z.output<typeof Pass>;

export async function runReconcile({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  const size = quick ? 200 : 5000;
  const server = await startMeasuredApiServer();
  try {
    note(`creating ${size} VMIs, with their budgets and the finished migrations that KubeVirt keeps`);
    await installLifeboat(server.client, {});
    // A scan looks whether the API server would ask this Worker.
    const url = "https://lifeboat.example.com/clusters/bench";
    const caBundle = Buffer.from(server.caPem).toString("base64");
    const home = { in: "Worker", url, webhookToken: WEBHOOK_TOKEN, caBundle } as const;
    await applyAsCommand(server.client, plannedFor(home));
    await createPlaces(server.client, 0, size);
    const vms = await createVms(server.client, 0, size);
    await createBudgets(server.client, vms);
    await createFinishedMigrations(server.client, vms);
    const full = await inTurns(server, "full reconcile");
    const idle = await inTurns(server, "idle tick");
    return [
      ...rowsOf(`full reconcile of ${size} VMs`, "reading the same", full),
      ...rowsOf(`idle tick beside ${size} VMs`, "reading the same", idle),
    ];
  } finally {
    await server.stop();
  }
}

interface Passes {
  readonly lifeboat: readonly Pass[];
  readonly floor: readonly Pass[];
}

/** Each in a fresh process: as a cron trigger finds its isolate. */
async function inTurns(server: MeasuredApiServer, work: string): Promise<Passes> {
  const { url, caPem, lifeboatToken: token } = server;
  const pass = async (what: string, addresses: readonly string[] = []): Promise<Pass> => {
    const child = startChild("pass-process.ts", {
      url,
      caPem,
      token,
      work: what,
      addresses,
      webhookToken: WEBHOOK_TOKEN,
    });
    try {
      return await child.next(Pass);
    } finally {
      await child.stop();
    }
  };
  const [lifeboat, floor]: [Pass[], Pass[]] = [[], []];
  for (const _ of numbered(3)) {
    const done = await pass(work);
    lifeboat.push(done);
    floor.push(await pass("reading", done.read));
  }
  return { lifeboat, floor };
}

function rowsOf(what: string, against: string, { lifeboat, floor }: Passes): readonly Measurement[] {
  const row = (unit: "ms" | "requests", of: (pass: Pass) => number): Measurement => ({
    what: `${what}: ${unit === "ms" ? "CPU" : "requests"}`,
    unit,
    samples: lifeboat.map(of),
    floor: { what: against, samples: floor.map(of) },
  });
  return [row("requests", ({ requests }) => requests), row("ms", ({ cpuMs }) => cpuMs)];
}

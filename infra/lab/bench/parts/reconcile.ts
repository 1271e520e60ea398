/** What looking at everything costs, and looking when there is nothing to do. */
import * as z from "zod";
import { numbered } from "../../../tools/in-parallel.ts";
import { applyAsCommand, plannedFor } from "../../stage/apply.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { startChild } from "../child.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";
import { createBudgets, createFinishedMigrations, createPlaces, createVms, planVm } from "../population.ts";

const EVACUATIONS = "/apis/lifeboat.dev/v1alpha1/evacuations?limit=250";
const ENDS = ["Moved", "Restarted", "Stopped", "Abandoned", "Withdrawn", "Duplicate", "Gone"]
  .map((end) => `status.phase!=${end}`)
  .join();
const WEBHOOK_TOKEN = "webhook-token-of-the-benchmark";
const Pass = z.object({ requests: z.number(), cpuMs: z.number() });
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
    const full = await inTurns(server, "full reconcile", pathsOf(size));
    const idle = await inTurns(server, "idle tick", [`${EVACUATIONS}&fieldSelector=${encodeURIComponent(ENDS)}`]);
    return [
      ...rowsOf(`full reconcile of ${size} VMs`, "reading and parsing alone", full),
      ...rowsOf(`idle tick beside ${size} VMs`, "listing what is in progress", idle),
    ];
  } finally {
    await server.stop();
  }
}

/** What a full reconcile lists. */
function pathsOf(size: number): readonly string[] {
  const budgets = new URLSearchParams({ limit: "250", labelSelector: "app.kubernetes.io/managed-by=lifeboat" });
  const namespaces = new Set(numbered(size).map((index) => planVm(index).namespace));
  return [
    EVACUATIONS,
    "/apis/kubevirt.io/v1/virtualmachineinstances?limit=250",
    "/api/v1/nodes?limit=250",
    ...[...namespaces].map((name) => `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets?${budgets.toString()}`),
  ];
}

interface Passes {
  readonly lifeboat: readonly Pass[];
  readonly floor: readonly Pass[];
}

/** Each in a fresh process: as a cron trigger finds its isolate. */
async function inTurns(server: MeasuredApiServer, work: string, paths: readonly string[]): Promise<Passes> {
  const { url, caPem, lifeboatToken: token } = server;
  const pass = async (what: string): Promise<Pass> => {
    const child = startChild("pass-process.ts", { url, caPem, token, work: what, paths, webhookToken: WEBHOOK_TOKEN });
    try {
      return await child.next(Pass);
    } finally {
      await child.stop();
    }
  };
  const [lifeboat, floor]: [Pass[], Pass[]] = [[], []];
  for (const _ of numbered(3)) {
    lifeboat.push(await pass(work));
    floor.push(await pass("reading"));
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

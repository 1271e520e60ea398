/** What a fresh isolate costs: start-up CPU, against bare Hono. */
import { buildWorker } from "../../../tools/build-worker.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import type { PartOptions } from "../main.ts";
import type { Measurement } from "../measurement.ts";
import { startBareWorkerd } from "../workerd.ts";

export async function runStartup({ quick, note }: PartOptions): Promise<readonly Measurement[]> {
  note("bundling");
  const lifeboat = await buildWorker();
  const hono = await buildWorker("infra/lab/bench/workers/hono.ts");
  const cpu: [number[], number[]] = [[], []];
  note("starting workerd again and again");
  for (const _ of numbered(quick ? 5 : 15)) {
    cpu[0].push(await startUpCpu(lifeboat));
    cpu[1].push(await startUpCpu(hono));
  }
  const floor = { what: "bare Hono", samples: cpu[1] };
  return [{ what: "CPU of workerd until the first answer", unit: "ms", samples: cpu[0], floor }];
}

/** Of a fresh process, up to and with its first answer, which a Worker's first caller waits for. */
async function startUpCpu(bundle: string): Promise<number> {
  const worker = await startBareWorkerd({ bundle });
  try {
    const answer = await fetch(`${worker.url}/healthz`);
    if (answer.status !== 200) throw new Error(`GET /healthz: ${answer.status}`);
    await answer.text();
    return await worker.cpuMs();
  } finally {
    await worker.stop();
  }
}

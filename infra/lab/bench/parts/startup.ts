/** What a fresh isolate costs: start-up CPU and size of the bundle, against bare Hono. */
import { type Bundle, bundle, gzipKiB } from "../bundle.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { modulesAtStart, modulesOf } from "../../../tools/build-worker.ts";
import { measured, measuredAgainst } from "../measurement.ts";
import type { RunPart } from "../part.ts";
import { startBareWorkerd } from "../workerd.ts";

const BUNDLES = ["lifeboat", "hono", "empty"] as const satisfies readonly Bundle[];
type Started = (typeof BUNDLES)[number];

const part = "startup";
const LARGEST_KIB = 64;

export const runStartup: RunPart = async ({ quick, note }) => {
  note("bundling");
  const paths: Record<Started, string> = {
    lifeboat: await bundle("lifeboat"),
    hono: await bundle("hono"),
    empty: await bundle("empty"),
  };
  const repetitions = numbered(quick ? 5 : 15);
  note(`starting workerd ${repetitions.length * BUNDLES.length} times`);
  const cpu: Record<Started, number[]> = { lifeboat: [], hono: [], empty: [] };
  for (const _ of repetitions) for (const name of BUNDLES) cpu[name].push(await startUpCpu(paths[name]));
  // Of the same round: what workerd needs for itself is no bundle's.
  const ownOf = (name: Started) => cpu[name].map((ms, round) => ms - (cpu.empty[round] ?? 0));
  const hono = { what: "bare Hono", samples: cpu.hono };
  const ownHono = { what: "bare Hono", samples: ownOf("hono") };
  const kib = await gzipKiB(await modulesAtStart(paths.lifeboat));
  const honoKib = await gzipKiB(await modulesOf(paths.hono));
  return [
    measuredAgainst({ part, what: "CPU of workerd until the first answer", unit: "ms" }, cpu.lifeboat, hono),
    measuredAgainst(
      { part, what: "the same, less an empty Worker's", unit: "ms", target: 1.5 },
      ownOf("lifeboat"),
      ownHono,
    ),
    // A target is one of the ratio where there is one: this one is of the size.
    measured({ part, what: "bundle without what is loaded later, gzip", unit: "KiB", target: LARGEST_KIB }, [kib]),
    measuredAgainst({ part, what: "the same, beside bare Hono", unit: "KiB" }, [kib], { ...hono, samples: [honoKib] }),
    measured({ part, what: "all modules, gzip", unit: "KiB" }, [await gzipKiB(await modulesOf(paths.lifeboat))]),
  ];
};

/** Of a fresh process, up to and with its first answer, which a Worker's first caller waits for. */
async function startUpCpu(path: string): Promise<number> {
  const worker = await startBareWorkerd({ bundle: path });
  try {
    const answer = await fetch(`${worker.url}/healthz`);
    if (answer.status !== 200) throw new Error(`GET /healthz: ${answer.status}`);
    await answer.text();
    return await worker.cpuMs();
  } finally {
    await worker.stop();
  }
}

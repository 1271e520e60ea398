/**
 * A drain end to end, and one evacuation alone from its mark to its migration.
 * Owns: these measurements. Does not own: the cluster and the drain (drained-cluster.ts).
 */
import { pods } from "../../sandbox/actors/resources.ts";
import { type DrainedCluster, type Mover, NAMESPACE, startDrainedCluster, VM_LABEL } from "../drained-cluster.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { RunPart } from "../part.ts";
import { type Moments, startTimeline, type Timeline } from "../timeline.ts";

const part = "drain";

export const runDrain: RunPart = async ({ quick, note }) => {
  const [size, alone] = quick ? [40, 3] : [200, 9];
  const runs: Record<Mover, Run> = { Lifeboat: NOTHING, KubeVirt: NOTHING };
  for (const mover of ["Lifeboat", "KubeVirt"] as const) {
    note(`starting ${size + alone} VMs, to be moved by ${mover}`);
    const cluster = await startDrainedCluster(mover, size + alone);
    try {
      runs[mover] = await runWith(cluster, alone, () => note(`draining, with ${mover}`));
    } finally {
      await cluster.stop();
    }
  }
  return rowsOf(size, runs.Lifeboat, runs.KubeVirt);
};

interface Run {
  /** Milliseconds from mark to migration, of evacuations that have the cluster to themselves. */
  readonly alone: readonly number[];
  /** The same in the drain, where they wait for each other. */
  readonly together: readonly number[];
  readonly seconds: number;
  readonly lost: number;
}

const NOTHING: Run = { alone: [], together: [], seconds: 0, lost: 0 };

async function runWith(cluster: DrainedCluster, alone: number, onDrain: () => void): Promise<Run> {
  const timeline = await startTimeline(cluster.client);
  try {
    const [first, rest] = [cluster.vms.slice(0, alone), cluster.vms.slice(alone)];
    for (const name of first) await evacuate(cluster, name, timeline);
    onDrain();
    const begin = performance.now();
    const lost = await cluster.drain();
    const seconds = (performance.now() - begin) / 1000;
    if (lost > 0) throw new Error(`${lost} VMs were lost in the drain`);
    return { alone: reactions(first, timeline), together: reactions(rest, timeline), seconds, lost };
  } finally {
    timeline.stop();
  }
}

async function evacuate({ client }: DrainedCluster, vm: string, timeline: Timeline): Promise<void> {
  const { items } = await client.list(pods, NAMESPACE, { labelSelector: `${VM_LABEL}=${vm}` });
  const [launcher] = items;
  if (launcher === undefined) throw new Error(`no launcher pod of ${vm}`);
  const { namespace, name } = launcher.metadata;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  const { code } = await client.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    body,
  });
  if (code !== 429) throw new Error(`the eviction of ${name} was answered ${code}`);
  await timeline.settled(vm);
}

function reactions(vms: readonly string[], timeline: Timeline): readonly number[] {
  return vms.map((name) => reactionOf(name, timeline.of.get(name)));
}

function reactionOf(name: string, { marked, migration }: Moments = {}): number {
  if (marked === undefined || migration === undefined)
    throw new Error(`${name} was not seen to be marked and migrated`);
  return migration - marked;
}

function rowsOf(size: number, lifeboat: Run, kubevirt: Run): readonly Measurement[] {
  return [
    measuredAgainst(
      { part, what: "from mark to migration, alone", unit: "ms" },
      lifeboat.alone,
      byKubeVirt(kubevirt.alone),
    ),
    measuredAgainst(
      { part, what: `from mark to migration, in a drain of ${size} VMs`, unit: "ms" },
      lifeboat.together,
      byKubeVirt(kubevirt.together),
    ),
    measuredAgainst(
      { part, what: `drain of ${size} VMs, end to end`, unit: "s" },
      [lifeboat.seconds],
      byKubeVirt([kubevirt.seconds]),
    ),
    measured({ part, what: `VMs lost in the drain of ${size}`, unit: "VMs", target: 0 }, [lifeboat.lost]),
  ];
}

function byKubeVirt(samples: readonly number[]) {
  return { what: "KubeVirt's own", samples };
}

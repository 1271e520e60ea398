/**
 * A drain end to end, in a cluster with Lifeboat and in one without.
 * Owns: these measurements. Does not own: the cluster and the drain (drained-cluster.ts).
 */
import { startDrainedCluster } from "../drained-cluster.ts";
import { type Measurement, measured, measuredAgainst } from "../measurement.ts";
import type { RunPart } from "../part.ts";

const part = "drain";

export const runDrain: RunPart = async ({ quick, note }) => {
  const size = quick ? 40 : 200;
  note(`draining ${size} VMs, with Lifeboat`);
  const lifeboat = await drain(size, true);
  note(`draining ${size} VMs, with KubeVirt alone`);
  const kubevirt = await drain(size, false);
  return rowsOf(size, lifeboat, kubevirt);
};

/** Resolves to the seconds from the beginning of the drain to its end. */
async function drain(size: number, withLifeboat: boolean): Promise<number> {
  const cluster = await startDrainedCluster(size, withLifeboat);
  try {
    const begin = performance.now();
    const lost = await cluster.drain();
    const seconds = (performance.now() - begin) / 1000;
    if (lost > 0) throw new Error(`${lost} VMs were lost in the drain`);
    return seconds;
  } finally {
    await cluster.stop();
  }
}

function rowsOf(size: number, lifeboat: number, kubevirt: number): readonly Measurement[] {
  const alone = { what: "KubeVirt alone", samples: [kubevirt] };
  return [
    measuredAgainst({ part, what: `drain of ${size} VMs, end to end`, unit: "s", target: 1.1 }, [lifeboat], alone),
    measured({ part, what: `VMs a second in the drain of ${size}`, unit: "per s" }, [size / lifeboat]),
  ];
}

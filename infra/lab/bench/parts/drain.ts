/** A drain end to end, in a cluster with Lifeboat and in one without. */
import { type Drained, startDrainedCluster } from "../drained-cluster.ts";
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

async function drain(size: number, withLifeboat: boolean): Promise<Drained> {
  const cluster = await startDrainedCluster(size, withLifeboat);
  try {
    const drained = await cluster.drain();
    if (drained.lost > 0) throw new Error(`${drained.lost} VMs were lost in the drain`);
    return drained;
  } finally {
    await cluster.stop();
  }
}

function rowsOf(size: number, lifeboat: Drained, kubevirt: Drained): readonly Measurement[] {
  const row = (named: Omit<Parameters<typeof measuredAgainst>[0], "part">, of: (drained: Drained) => number) =>
    measuredAgainst({ part, ...named }, [of(lifeboat)], { what: "KubeVirt alone", samples: [of(kubevirt)] });
  return [
    row({ what: `drain of ${size} VMs, end to end`, unit: "s", target: 1.1 }, ({ seconds }) => seconds),
    row({ what: `the same, until the last VM has moved`, unit: "s", target: 1.1 }, ({ movedSeconds }) => movedSeconds),
    row({ what: `CPU of the cluster for each of ${size} VMs`, unit: "ms" }, ({ cpuMs }) => cpuMs / size),
    measured({ part, what: `VMs a second in the drain of ${size}`, unit: "per s" }, [size / lifeboat.seconds]),
  ];
}

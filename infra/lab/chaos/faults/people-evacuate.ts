/** Fault: people create, cancel and retry evacuations. */
import { endingOf, evacuations } from "../../stage/evacuations.ts";
import { type Fault, type Run, toSome, type VmKey } from "../fault.ts";

export const peopleEvacuate: Fault = {
  says: "people cancel evacuations, retry failed evacuations, and create evacuations with kubectl",
  weight: 6,
  inject: async (run, draw) => {
    await Promise.all([
      toSome(run, draw, (vm) => change(run, vm, { intent: "Withdrawn" })),
      draw.chance(0.5) ? toSome(run, draw, (vm) => create(run, vm)) : undefined,
      toSome(run, draw, (vm) => change(run, vm, { retryAt: new Date().toISOString() })),
    ]);
  },
};

async function change(run: Run, vm: VmKey, spec: object): Promise<boolean> {
  const active = [...run.cluster.observer.evacuations.list()].filter(
    (one) =>
      one.metadata.namespace === vm.namespace &&
      one.spec.virtualMachineInstance.name === vm.name &&
      endingOf(one) === undefined,
  );
  for (const { metadata } of active) await run.client.patch(evacuations, metadata, { type: "merge", body: { spec } });
  return active.length > 0;
}

async function create({ client }: Run, { namespace, name }: VmKey): Promise<void> {
  const metadata = { generateName: `${name}-by-hand-`, namespace };
  await client.create(evacuations, { metadata, spec: { virtualMachineInstance: { name } } });
}

/** Fault: owners delete VMIs during the drain. */
import { virtualMachineInstances } from "../../../sandbox/index.ts";
import { type Fault, toSome } from "../fault.ts";
import { persist } from "../wait.ts";

export const ownersDelete: Fault = {
  says: "owners delete VMIs during the drain",
  weight: 4,
  inject: (run, draw) =>
    toSome(run, draw, async (vm) => {
      run.deleted.add(`${vm.namespace}/${vm.name}`);
      await persist(() => run.client.delete(virtualMachineInstances, vm));
    }),
};

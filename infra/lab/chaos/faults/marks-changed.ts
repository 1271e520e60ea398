/** Fault: a user removes evacuationNodeName from VMIs, or KubeVirt sets it to a node that the VMIs have left. */
import { USERS, virtualMachineInstances } from "../../../sandbox/index.ts";
import { type Fault, type Run, toSome, type VmKey } from "../fault.ts";
import { until } from "../wait.ts";

const MARK = "/status/evacuationNodeName";
const LEAVES_WITHIN_MS = 3000;

export const marksChanged: Fault = {
  says: "a user removes evacuationNodeName from VMIs, or KubeVirt sets it to a node that the VMs have left",
  inject: async (run, draw) => {
    await Promise.all([
      toSome(run, draw, (vm) => patchAsVirtApi(run, vm, [{ op: "remove", path: MARK }])),
      toSome(run, draw, (vm) => markLate(run, vm)),
    ]);
  },
};

/**
 * Patches a VMI with virt-api's account, because this account may change the status. Throws if the patch removes a
 * field that does not exist.
 */
async function patchAsVirtApi({ client }: Run, vm: VmKey, body: readonly object[]): Promise<void> {
  const virtApi = client.as(USERS.virtApi.user, USERS.virtApi.groups);
  await virtApi.patch(virtualMachineInstances, vm, { type: "json", body });
}

async function markLate(run: Run, vm: VmKey): Promise<boolean> {
  const nodeOf = () => run.cluster.observer.vmis.get(`${vm.namespace}/${vm.name}`)?.status?.nodeName;
  const left = nodeOf();
  if (!(await until(() => nodeOf() !== left, LEAVES_WITHIN_MS)) || nodeOf() === undefined) return false;
  await patchAsVirtApi(run, vm, [{ op: "add", path: MARK, value: left }]);
  return true;
}

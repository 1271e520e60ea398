/** Creates many VMs in a fake cluster. */
import type { PodFacts, VmiFacts } from "../../../../shared/kube/facts.ts";
import type { FakeCluster } from "../../../support/cluster.ts";
import { NODE, owner, pod, vmi } from "../../../support/fixtures.ts";

/** Creates a VM that runs on node01. Returns its launcher pod. */
export function putVm(fake: FakeCluster, name: string, tweak: Partial<VmiFacts> = {}): PodFacts {
  const [uid, podUid] = [`vmi-${name}`, `pod-${name}`];
  const launcher = pod({
    name: `virt-launcher-${name}-abcde`,
    uid: podUid,
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid },
    annotations: { "kubevirt.io/domain": name },
    owners: [owner({ name, uid })],
  });
  fake.pods.put(launcher);
  fake.vmis.put(vmi({ name, uid, activePods: { [podUid]: NODE }, ...tweak }));
  return launcher;
}

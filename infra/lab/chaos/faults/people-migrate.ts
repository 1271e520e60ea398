/** Fault: a user or a workload update migrates VMs. */
import { ANNOTATION, migrations, USERS } from "../../../sandbox/index.ts";
import { type Fault, type Run, toSome, type VmKey } from "../fault.ts";

export const peopleMigrate: Fault = {
  says: "a user migrates VMs with virtctl migrate, or KubeVirt migrates VMs for a workload update",
  weight: 4,
  inject: (run, draw) => toSome(run, draw, (vm) => (draw.chance(0.6) ? migrate(run, vm) : update(run, vm))),
};

async function migrate({ client }: Run, { namespace, name }: VmKey): Promise<void> {
  const metadata = { generateName: "kubevirt-migrate-vm-", namespace };
  await client.create(migrations, { metadata, spec: { vmiName: name } });
}

async function update({ client }: Run, { namespace, name }: VmKey): Promise<void> {
  const annotations = { [ANNOTATION.workloadUpdateMigration]: "" };
  const metadata = { generateName: "kubevirt-workload-update-", namespace, annotations };
  const virtController = client.as(USERS.virtController.user, USERS.virtController.groups);
  await virtController.create(migrations, { metadata, spec: { vmiName: name, priority: "system-critical" } });
}

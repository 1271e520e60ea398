/** Whatever a tenant can write in a namespace of their own: labels, annotations, owners, names. No Evacuation. */
import * as fc from "fast-check";
import { PATH } from "../../support/generators/clusters.ts";
import { deschedulingFactsOf, factsOf } from "../../support/generators/facts.ts";
import * as raw from "../../support/generators/objects.ts";
import * as migrations from "../../support/generators/migrations.ts";
import * as vms from "../../support/generators/vms.ts";
import { budget, migration, NODE, pod, POD_NAME, POD_UID, time, vmi, VMI_UID } from "../../support/fixtures.ts";

/** The victims live in namespace `apps`; these are their names and UIDs, which a forger may know. */
const NAMESPACE = "tenant";
const anyName = fc.constantFrom("web", "mine", POD_NAME);
const anyUid = fc.constantFrom(VMI_UID, POD_UID, "my-uid", "my-pod");
const anyTime = fc.constantFrom(-1e9, -600, -121, -60, 0, 20, 60, 1e9).map(time);

const anyOwners = (uids: fc.Arbitrary<string>) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom("VirtualMachineInstance", "Pod", "ReplicaSet", "DaemonSet"),
      name: anyName,
      uid: uids,
      controller: fc.boolean(),
    }),
    { maxLength: 2 },
  );

const anyWord = fc.oneof(anyTime, anyName, fc.constantFrom("", "true", "virt-launcher", "hotplug-disk"));
const anyMetadata = (ownerReferences: ReturnType<typeof anyOwners>) =>
  fc.record({
    name: anyName,
    labels: fc.dictionary(
      fc.constantFrom("app", "kubevirt.io", "kubevirt.io/created-by"),
      fc.oneof(fc.constantFrom("virt-launcher", "hotplug-disk", "db"), anyUid),
    ),
    annotations: fc.dictionary(
      fc.constantFrom(...raw.DESCHEDULER_ANNOTATIONS, "kubevirt.io/domain", "kubernetes.io/config.mirror"),
      anyWord,
      { maxKeys: 4 },
    ),
    ownerReferences,
  });

/** A VMI that runs on the victims' node, and that is not marked. */
export const anyVmi = fc.tuple(vms.anyVmi, fc.constantFrom("web", "mine")).map(([drawn, name]) => {
  const running = { phase: "Running", node: NODE, mark: undefined, state: undefined, deleting: false } as const;
  const object = vms.vmiOf({ ...drawn, ...running, launcherIs: "Listed", migratable: "True" }, name);
  const [found] = factsOf({ [PATH.vmis]: [object] }).vmis;
  return { ...vmi(), ...found, namespace: NAMESPACE, uid: "my-uid", activePods: { "my-pod": NODE } };
});

/** Only the scheduler and the kubelet write conditions, but the tenant may have pods of theirs preempted. */
export const anyPod = fc
  .tuple(raw.anyPod, anyMetadata(anyOwners(anyUid)), fc.constantFrom("my-pod", "other-pod"))
  .map(([drawn, metadata, uid]) => {
    const object = raw.podOf(drawn, { metadata: { ...metadata, uid, namespace: NAMESPACE }, nodeName: NODE });
    return { ...pod(), ...factsOf({ [PATH.pods]: [object] }).pods[0], phase: "Running" };
  });

const named = fc.constantFrom("lifeboat-web-00000000", budget().name, "mine");
export const anyBudget = fc
  .tuple(vms.anyBudget, named, fc.constantFrom("b1", "b2"), anyOwners(anyUid))
  .map(([drawn, name, uid, owners]) => {
    const [found] = factsOf({ [PATH.budgets]: vms.budgetsOf({ budget: drawn }, "web") }).budgets;
    return { ...budget(), ...found, namespace: NAMESPACE, name, uid, owners };
  });

export const anyMigration = fc.tuple(migrations.anyMigration, anyName).map(([drawn, vmiName]) => {
  const [found] = factsOf({ [PATH.migrations]: vms.migrationsOf({ migration: drawn, node: NODE }, "web") }).migrations;
  return { ...migration(), ...found, namespace: NAMESPACE, uid: "m", vmiName };
});

const NODES = ["n0", "n1", "n2", "n3"];
/** What counts of a pod whatever it carries: where it is, and what it asks for. */
const UNWRITTEN = {
  annotations: {},
  priority: undefined,
  tolerations: undefined,
  nodeSelector: {},
  required: undefined,
};

const own = (i: number) => ({ namespace: NAMESPACE, uid: `mine-${i}`, creationTimestamp: time(-1e9) });

/** Pods of the tenant's, each with the same pod before the tenant has written anything on it. `owners`: UIDs that a forger may know. */
export function anyDeschedulerPods(owners: readonly string[]) {
  const metadata = anyMetadata(anyOwners(fc.constantFrom("mine", ...owners)));
  const one = fc.record({ drawn: raw.anyPod, metadata, nodeName: fc.constantFrom(...NODES) });
  return fc.array(one, { maxLength: 5 }).map((pods) => {
    const plain = pods.map(({ drawn, nodeName }, i) => {
      const unwritten = { ...drawn, ...UNWRITTEN, antiAffinity: undefined, volumes: [], deleting: false };
      return raw.podOf(unwritten, { metadata: { name: `plain-${i}`, ...own(i) }, nodeName });
    });
    const forged = pods.map(({ drawn, metadata: written, nodeName }, i) => {
      return raw.podOf(drawn, { metadata: { ...written, ...own(i) }, nodeName });
    });
    const read = (objects: typeof plain) => deschedulingFactsOf({ [PATH.pods]: objects }).pods;
    return { plain: read(plain), forged: read(forged) };
  });
}

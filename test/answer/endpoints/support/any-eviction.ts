/** Draws random clusters with an eviction of one pod, and opens an app that records writes. */
import * as fc from "fast-check";
import type { KubeVirtFacts } from "../../../../shared/kube/schemas/kubevirt.ts";
import { budgetName } from "../../../../shared/budget/budget.ts";
import type { VmiFacts } from "../../../../shared/kube/facts.ts";
import { FakeCluster } from "../../../support/cluster.ts";
import {
  budget,
  hotplug,
  migration,
  newborn,
  NODE,
  pod,
  POD_UID,
  time,
  vmi,
  without,
} from "../../../support/fixtures.ts";
import { openApp } from "../../../support/app.ts";

/** Draws `usual` seven times as often as each other value. */
function oneOf<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.constantFrom(...Array<T>(7).fill(usual), ...others);
}

const anyEvacuation = fc.record({
  cause: fc.constantFrom("ApiEviction" as const, "DrainTaint" as const, "Preemption" as const),
  uid: fc.constantFrom(POD_UID, POD_UID, "another"),
  phase: fc.constantFrom("Pending" as const, "BackingOff" as const, "Abandoned" as const, "Withdrawn" as const),
  attempts: fc.nat(4),
  nextAttemptTime: fc.constantFrom(undefined, time(-3600), time(60), time(60), time(60)),
});

const anyVmi = fc.record({
  strategy: fc.constantFrom("LiveMigrate", "LiveMigrateIfPossible", "External", "None", "Odd", undefined),
  migratable: fc.constantFrom(true, true, false),
  phase: oneOf("Running", "Succeeded"),
  nodeName: oneOf<string | undefined>(NODE, "node02", undefined),
  mark: fc.constantFrom(undefined, undefined, NODE, NODE, "node02"),
  deleting: oneOf(false, true),
  isThere: oneOf(true, false),
});

/**
 * A VMI that has an evacuationNodeName and can no longer migrate. Independent random values would rarely produce this
 * combination.
 */
const stuckVmi = fc.constant({
  strategy: "LiveMigrateIfPossible",
  migratable: false,
  phase: "Running",
  nodeName: NODE,
  mark: NODE,
  deleting: false,
  isThere: true,
});

export const anyWorld = fc.noBias(
  fc.record({
    vmi: fc.oneof({ arbitrary: anyVmi, weight: 8 }, { arbitrary: stuckVmi, weight: 1 }),
    pod: fc.record({
      is: oneOf("launcher", "hotplug", "foreign", "nameless"),
      phase: oneOf("Running", "Pending", "Failed"),
      createdBy: oneOf("vmi-uid", "another"),
    }),
    evacuations: fc.array(anyEvacuation, { maxLength: 2 }),
    labelled: fc.boolean(),
    migrating: fc.constantFrom(false, false, true),
    clusterStrategy: fc.constantFrom(undefined, "LiveMigrate", "External"),
    budget: fc.constantFrom("made", "missing", "off"),
  }),
);
type AnyWorld = typeof anyWorld extends fc.Arbitrary<infer T> ? T : never;

function vmiOf({ vmi: v, labelled }: AnyWorld): VmiFacts {
  const bare = without(vmi({ phase: v.phase, deleting: v.deleting }), "evictionStrategy", "nodeName");
  const reason = v.migratable ? {} : { reason: "BecauseOfThis" };
  return {
    ...bare,
    liveMigratable: { migratable: v.migratable, ...reason },
    ...(v.strategy !== undefined && { evictionStrategy: v.strategy }),
    ...(v.nodeName !== undefined && { nodeName: v.nodeName }),
    ...(v.mark !== undefined && { evacuationNodeName: v.mark }),
    ...(labelled && { evacuationLabel: "urgent" }),
  };
}

export function kubeVirtOf(evictionStrategy: string | undefined): KubeVirtFacts {
  return { namespace: "kubevirt", featureGates: [], ...(evictionStrategy !== undefined && { evictionStrategy }) };
}

/** Creates a cluster. The evicted pod is the launcher pod or a hotplug pod of the VM. */
export function clusterOf(w: AnyWorld) {
  const fake = new FakeCluster();
  const isHotplug = w.pod.is === "hotplug";
  const launcher = pod({
    phase: isHotplug ? "Running" : w.pod.phase,
    labels: {
      "kubevirt.io/created-by": w.pod.createdBy,
      ...(w.pod.is !== "foreign" && { "kubevirt.io": "virt-launcher" }),
    },
    annotations: w.pod.is === "nameless" ? {} : { "kubevirt.io/domain": "web" },
    owners: [],
  });
  fake.pods.put(launcher);
  const evicted = isHotplug ? hotplug({ phase: w.pod.phase }) : launcher;
  fake.pods.put(evicted);
  if (w.vmi.isThere) fake.vmis.put(vmiOf(w));
  w.evacuations.forEach(({ cause, uid, ...status }, i) => {
    fake.evacuations.put(
      newborn({ name: `e${i}`, uid: `e${i}`, spec: { cause, pod: { uid } }, status: { sourceNode: NODE, ...status } }),
    );
  });
  if (w.migrating) fake.migrations.put(migration());
  fake.kubeVirt = kubeVirtOf(w.clusterStrategy);
  if (w.budget === "made") fake.budgets.put(budget({ name: budgetName(vmi()) }));
  fake.configure({ disruptionBudgets: w.budget === "off" ? "Never" : "Always" });
  return { fake, evicted };
}

const READ = /^(get|list)|^create (events|pods\/eviction)$|^patch virtualmachineinstances$/;

const VERBS: Readonly<Record<string, string>> = {
  "get poddisruptionbudgets": "CreateBudget",
  "create evacuations": "CreateEvacuation",
  "update virtualmachineinstances/evacuate/cancel": "Unmark",
};

/** Records the writes to the cluster until the decision is logged. Events are not recorded. */
export function openNoting(fake: FakeCluster) {
  const written: string[] = [];
  const isRuled = () => app.log.some(({ endpoint }) => endpoint === "admission/evictions");
  const app = openApp(fake, (request) => {
    // CreateBudget reads the budget, and creates only a missing budget. This function records the read instead of
    // the creation, because no decision reads a budget for another purpose.
    if (request === "create poddisruptionbudgets") return;
    // This patch contains the user's name, which differs between an explanation and an eviction.
    if (request === "patch evacuations/status") return;
    const isAction = request === "get poddisruptionbudgets" || !READ.test(request);
    if (isAction && !isRuled()) written.push(VERBS[request] ?? request);
  });
  return { app, written };
}

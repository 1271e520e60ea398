/** Creates a cluster with evacuations and maintenance for the pages. */
import type { MigrationFacts, NodeFacts, VmiFacts } from "../../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../../shared/kube/evacuation.ts";
import { FakeCluster } from "../../../support/cluster.ts";
import { endedEvacuation, evacuation, migration, NODE, time } from "../../../support/fixtures.ts";
import type { JsonObject } from "../../../support/json.ts";
import { object } from "../../../support/cluster/objects.ts";
import { launcher, node, type plainPod } from "../../../support/preflight/fixtures.ts";

export interface Scene {
  readonly vms?: readonly VmiFacts[];
  readonly evacuations?: readonly EvacuationFacts[];
  readonly migrations?: readonly MigrationFacts[];
  readonly cordoned?: boolean;
  /** Changes fields of node01. By default, node01 and node02 are ready. */
  readonly its?: Partial<NodeFacts>;
  /** The NodeEvacuation `kernel`. Absent fields have the defaults of the CustomResourceDefinition. */
  readonly nodeEvacuation?: Maintained;
  readonly rolling?: Pick<Maintained, "spec" | "status">;
  readonly pods?: readonly ReturnType<typeof plainPod>[];
  /** Conditions of the LifeboatConfiguration that differ from the conditions in a healthy cluster. */
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
}

interface Maintained {
  readonly isPart?: true;
  readonly spec?: object;
  readonly virtualMachines?: object;
  readonly status?: object;
}

export const UNDER_WAY = {
  phase: "Evacuating",
  startTime: time(-300),
  message: "2 of 4 VMs are left",
  virtualMachines: { total: 4, left: 2, moving: 1, waiting: 0, blocked: 1, restarted: 1, stopped: 0 },
};

const OWNER = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", name: "weekend", controller: true };

export function nodeEvacuation({ isPart, spec, virtualMachines, status = {} }: Maintained): JsonObject {
  const ownerReferences = isPart === true ? [{ ...OWNER, uid: "uid-of-weekend" }] : [];
  const created = { resourceVersion: "1", creationTimestamp: time(-600) };
  const metadata = { name: "kernel", uid: "uid-of-kernel", ...created, ownerReferences };
  const vms = { order: "ByPriority", whenBlocked: "Wait", whenAttemptsFail: "Wait", ownersChoice: "Respected" };
  const its = { nodeName: NODE, intent: "Evacuate", progress: "Running", ...spec };
  return object({ metadata, spec: { ...its, virtualMachines: { ...vms, ...virtualMachines } }, status });
}

/** The status of a RollingMaintenance in which one node is done and another node is blocked. */
export const WEEKEND = {
  status: {
    phase: "Running",
    message: "node02 is being drained",
    startTime: time(-600),
    estimatedCompletionTime: time(600),
    nodeCounts: { total: 2, pending: 0, active: 1, evacuated: 1, failed: 0 },
    nodes: [
      {
        name: NODE,
        phase: "Returned",
        nodeEvacuation: "weekend-node01",
        startTime: time(-600),
        completionTime: time(-300),
        virtualMachines: { total: 3, left: 0 },
      },
      {
        name: "node02",
        phase: "Blocked",
        nodeEvacuation: "weekend-node02",
        startTime: time(-300),
        message: "VM apps/ledger cannot migrate",
        virtualMachines: { total: 4, left: 3 },
      },
    ],
  },
};

function rollingMaintenance({ spec, status = {} }: Maintained): JsonObject {
  const metadata = { name: "weekend", uid: "uid-of-weekend", resourceVersion: "1", creationTimestamp: time(-600) };
  return object({ metadata, spec: { nodes: { names: [NODE, "node02"] }, ...spec }, status });
}

/** The requests of a pod for which every node has enough CPU and memory. */
export const ASKS_NOTHING = { requests: {} };

export function clusterOf(scene: Scene): FakeCluster {
  const { vms = [], evacuations = [], migrations = [], cordoned = false, its = {}, pods = [], conditions } = scene;
  const fake = new FakeCluster();
  fake.nodes.put(node(NODE, { unschedulable: cordoned, ...its }), node("node02"));
  fake.vmis.put(...vms);
  fake.pods.put(...vms.map(({ name }) => launcher(name, ASKS_NOTHING)), ...pods);
  fake.migrations.put(...vms.filter(({ isMigrating }) => isMigrating).map(runningMigration), ...migrations);
  fake.evacuations.put(...evacuations);
  if (scene.nodeEvacuation) fake.api.put("nodeevacuations", nodeEvacuation(scene.nodeEvacuation));
  if (scene.rolling) fake.api.put("rollingmaintenances", rollingMaintenance(scene.rolling));
  const reported = {
    reason: "Reason",
    message: "as the condition says",
    observedGeneration: 1,
    lastTransitionTime: "",
  };
  if (conditions !== undefined) {
    const all = conditions.map((one) => ({ ...reported, ...one }));
    fake.configure({}, { conditions: all });
  }
  return fake;
}

function runningMigration({ name }: VmiFacts): MigrationFacts {
  const moving = { phase: "Running", sourceNode: NODE, targetNode: "node02", targetPod: `target-of-${name}` };
  return migration({ name: `migration-of-${name}`, uid: `migration-of-${name}`, vmiName: name, ...moving });
}

const about = (vmiName: string) => ({ virtualMachineInstanceUID: `vmi-${vmiName}`, podUID: `pod-${vmiName}` });

export function of(vmiName: string, status: Partial<EvacuationFacts["status"]> = {}, more: object = {}) {
  const spec = { vmiName, pod: { uid: `pod-${vmiName}` } };
  const its = { ...about(vmiName), ...status };
  return evacuation({ name: `of-${vmiName}`, uid: `of-${vmiName}`, spec, status: its, ...more });
}

export function ended(vmiName: string, phase: "Moved" | "Abandoned", status: Partial<EvacuationFacts["status"]> = {}) {
  const spec = { vmiName, pod: { uid: `pod-${vmiName}` } };
  return endedEvacuation(phase, {
    name: `ended-${vmiName}`,
    uid: `ended-${vmiName}`,
    spec,
    status: { ...about(vmiName), ...status },
  });
}

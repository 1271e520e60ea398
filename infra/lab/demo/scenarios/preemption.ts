/** A pod of high priority needs memory that VMs use. */
import { GUARD_FILES } from "../../stage/apply.ts";
import { setTimeout as delay } from "node:timers/promises";
import { createPod, createPriorityClass } from "../../../sandbox/index.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import type { World } from "../../stage/world.ts";
import type { Act } from "../scenario.ts";

const NODE = "node-1";
const NAMESPACE = "shop";
const VMS = ["db", "web"];
const PREEMPTOR = "analytics";
const JOBS = ["job-1", "job-2", "job-3"];

export const preemption: Act = {
  about: "Lifeboat",
  lifeboat: { withIt: { featureGates: { PreemptionEvictionLiveMigration: true } } },
  optional: [...GUARD_FILES, "optional/migration-policy/migration-policy.yaml"],
  async setScene(client) {
    await createNodes(client, [NODE], { memory: "16Gi" });
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", memory: "7Gi", node: NODE };
    await createVms(
      client,
      VMS.map((name) => ({ ...vm, name })),
    );
    // Each of these nodes can run one more VM, but not the preempting pod.
    await createNodes(client, ["node-2", "node-3"], { memory: "8Gi" });
    await createPriorityClass(client, "high", 1_000_000);
    return { vms: VMS.length, nodes: 3, pods: 0 };
  },
  nodes: [NODE],
  pods: [PREEMPTOR, ...JOBS].map((name) => `${NAMESPACE}/${name}`),
  headline: [
    `${NODE} is full. Pod ${NAMESPACE}/${PREEMPTOR} has a high priority and fits on no other node, so the scheduler preempts VMs.`,
  ],
  async disrupt({ client }, signal) {
    const preemptor = { namespace: NAMESPACE, name: PREEMPTOR, priorityClassName: "high" };
    await createPod(client, { ...preemptor, requests: { memory: "12Gi" } });
    for (const name of JOBS) {
      await delay(1000, undefined, { signal });
      await createPod(client, { namespace: NAMESPACE, name, requests: { memory: "64Mi" } });
    }
  },
  hasHappened: (_, now) => placeOf(now, PREEMPTOR) === NODE && JOBS.every((job) => placeOf(now, job)),
  lostWithout: 2,
  encore: `kubectl get pods -n ${NAMESPACE} -o wide`,
};

function placeOf({ pods }: World, name: string): string | undefined {
  return [...pods.values()].find(({ key, phase }) => key === `${NAMESPACE}/${name}` && phase === "Running")?.nodeName;
}

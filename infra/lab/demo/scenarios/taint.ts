/** A NoExecute taint evicts the pods that do not tolerate the taint. */
import { GUARD_FILES } from "../../stage/apply.ts";
import { createPod, nodes } from "../../../sandbox/index.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import { troublesOf, vmsOn } from "../rows.ts";
import type { Act } from "../scenario.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];
const NAMESPACE = "shop";
const VMS = ["cache", "db", "web"];
const TAINT = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };
const COMMAND = `kubectl taint node ${NODE} ${TAINT.key}=${TAINT.value}:${TAINT.effect}`;
/** This pod tolerates the taint, like the pods of most DaemonSets. */
const DAEMON = { namespace: "kube-system", name: "log-agent" };
const ORDINARY = { namespace: NAMESPACE, name: "report" };

export const taint: Act = {
  about: "Lifeboat",
  lifeboat: { withIt: { featureGates: { NoExecuteTaintEvictionLiveMigration: true } } },
  optional: [...GUARD_FILES, "optional/migration-policy/migration-policy.yaml"],
  async setScene(client) {
    await createNodes(client, NODES);
    const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE };
    await createVms(
      client,
      VMS.map((name) => ({ ...vm, name })),
    );
    await createPod(client, { ...DAEMON, node: NODE, tolerations: [{ key: TAINT.key, operator: "Exists" }] });
    await createPod(client, { ...ORDINARY, node: NODE });
    return { vms: VMS.length, nodes: NODES.length, pods: 2 };
  },
  nodes: [NODE],
  pods: [DAEMON, ORDINARY].map(({ namespace, name }) => `${namespace}/${name}`),
  headline: [`$ ${COMMAND}`],
  async disrupt({ client }) {
    const body = { spec: { taints: [TAINT] } };
    await client.patch(nodes, { name: NODE }, { type: "strategic", body });
  },
  hasHappened: (_, now) => troublesOf(NODE, now).length > 0 && vmsOn(NODE, now) === 0,
  lostWithout: 3,
  encore: `${COMMAND}-`,
};

/** Fault: the node of all Lifeboat replicas gets a NoExecute taint. */
import { nodes, pods } from "../../../sandbox/index.ts";
import { SERVER } from "../../stage/in-cluster.ts";
import { atTimes, type Fault, type Run, waited } from "../fault.ts";
import { CONTROL_PLANE, NODE } from "../forms/in-cluster.ts";
import { persist } from "../wait.ts";
import { TAINT } from "./no-execute-taint.ts";

/** The node of the replicas gets a taint. The replicas must stay, because the shipped manifests tolerate this taint. */
export const replicasTainted: Fault = {
  says: "the node of all replicas of Lifeboat gets a NoExecute taint",
  form: "InCluster",
  inject: (run, draw) =>
    atTimes(run, draw, [1, 2], async () => {
      await setOwnTaints(run, [TAINT]);
      await waited(run, draw.int(200, 3000));
      const pod = await persist(() => run.client.get(pods, SERVER));
      if (pod === undefined || pod.metadata.deletionTimestamp)
        run.report("the node's taint has evicted replicas of Lifeboat, although the replicas tolerate the taint");
      await setOwnTaints(run, []);
    }),
  undo: (run) => setOwnTaints(run, []),
};

async function setOwnTaints({ client }: Run, more: readonly object[]): Promise<void> {
  const body = { spec: { taints: [CONTROL_PLANE, ...more] } };
  await persist(() => client.patch(nodes, { name: NODE }, { type: "merge", body }));
}

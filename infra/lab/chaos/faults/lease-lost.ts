/** Fault: the replicas lose their Lease. */
import { leases } from "../../../sandbox/index.ts";
import { SERVER } from "../../stage/in-cluster.ts";
import { atTimes, type Fault } from "../fault.ts";
import { STRANGER } from "../forms/in-cluster.ts";

export const leaseLost: Fault = {
  says: "another client takes the Lease of the replicas of Lifeboat, or the Lease loses its holder",
  form: "InCluster",
  inject: (run, draw) =>
    atTimes(run, draw, [1, 3], async () => {
      const body = { spec: { holderIdentity: draw.pick(["", STRANGER]) } };
      await run.client.patch(leases, SERVER, { type: "merge", body });
    }),
};

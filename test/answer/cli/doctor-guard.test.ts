/** Tests that the advice of `lifeboat doctor` contains the names of the cluster's own objects. */
import { expect, test } from "vitest";
import { examine } from "../../../infra/cli/doctor/doctor.ts";
import { configuration, kubevirt, reads } from "./doctor-facts.ts";

test("the command that adds a toleration to virt-handler names this cluster's KubeVirt object", async () => {
  const found = await examine(
    reads({
      configuration: configuration({ featureGates: { NoExecuteTaintEvictionLiveMigration: true } }),
      holdPolicies: { value: new Set(["lifeboat-hold-taints", "lifeboat-launchers"] as const) },
      kubevirt: kubevirt({ name: "cnv", facts: { namespace: "openshift-cnv", featureGates: [], minor: 8 } }),
    }),
  );
  expect(found.find(({ message }) => message.endsWith("evicts virt-handler"))?.fix).toMatch(
    /^kubectl -n openshift-cnv patch kubevirt cnv --type merge/,
  );
});

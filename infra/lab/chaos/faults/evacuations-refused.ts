/** Fault: a quota refuses Evacuations in the VMs' namespace for a while. */
import { applyManifests } from "../../../sandbox/index.ts";
import { type Fault, type Run, waited } from "../fault.ts";
import { persist } from "../wait.ts";

const API = "admissionregistration.k8s.io/v1";
const NAME = "chaos-quota";
const RULE = {
  apiGroups: ["lifeboat.dev"],
  apiVersions: ["*"],
  operations: ["CREATE"],
  resources: ["evacuations"],
};
const PLURALS = ["validatingadmissionpolicybindings", "validatingadmissionpolicies"];

/** An admission policy refuses Evacuations, as a quota would. Lifeboat can still set a VMI's evacuationNodeName. */
export const evacuationsRefused: Fault = {
  says: "a quota refuses Evacuations in the VMs' namespace for a while: 403",
  weight: 4,
  async inject(run, draw) {
    if (!(await waited(run, draw.int(0, Math.floor(run.plan.calmMs / 2))))) return;
    await persist(() => applyManifests(run.client, manifestsFor(run)));
    run.strike();
    await waited(run, draw.int(300, run.plan.calmMs));
    await remove(run);
  },
  undo: remove,
};

async function remove({ client }: Run): Promise<void> {
  for (const plural of PLURALS)
    await persist(() => client.raw({ method: "DELETE", path: `/apis/${API}/${plural}/${NAME}` }));
}

function manifestsFor({ namespace }: Run) {
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const validations = [{ expression: "false", message: "exceeded quota: evacuations", reason: "Forbidden" }];
  return [
    {
      apiVersion: API,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: NAME },
      spec: { failurePolicy: "Fail", matchConstraints: { resourceRules: [RULE] }, validations },
    },
    {
      apiVersion: API,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: NAME },
      spec: { policyName: NAME, validationActions: ["Deny"], matchResources: { namespaceSelector } },
    },
  ];
}

/** No back-off of KubeVirt's where it is not the sandbox's to set: it outlasts a run. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { ANNOTATION } from "../../sandbox/kubevirt/resources.ts";
import { applyManifests } from "../../sandbox/manifests.ts";

const NAME = "chaos-no-backoff";
const GROUP = "admissionregistration.k8s.io/v1";
const RULE = {
  apiGroups: ["kubevirt.io"],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["virtualmachineinstancemigrations"],
};
const EXPRESSION = `Object{metadata: Object.metadata{annotations: {"${ANNOTATION.ignoreMigrationBackoff}": ""}}}`;

const POLICY = {
  apiVersion: GROUP,
  kind: "MutatingAdmissionPolicy",
  metadata: { name: NAME },
  spec: {
    matchConstraints: { resourceRules: [RULE] },
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: EXPRESSION } }],
  },
};
const BINDING = {
  apiVersion: GROUP,
  kind: "MutatingAdmissionPolicyBinding",
  metadata: { name: NAME },
  spec: { policyName: NAME },
};

export async function forgoBackoff(client: KubeClient): Promise<void> {
  await applyManifests(client, [POLICY, BINDING]);
}

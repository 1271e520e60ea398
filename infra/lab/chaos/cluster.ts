/** Sets up a sandbox with Lifeboat. Many chaos runs share the sandbox. */
import { GUARD_FILES } from "../stage/apply.ts";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  ANNOTATION,
  applyManifests,
  isSimulated,
  KUBEVIRT,
  type KubeClient,
  kubeVirts,
  type Sandbox,
} from "../../sandbox/index.ts";
import { startSandboxAsChosen } from "../stage/control-plane.ts";
import { TAINT } from "./faults/no-execute-taint.ts";
import type { Form, FormName } from "./forms/form.ts";
import { startInClusterForm } from "./forms/in-cluster.ts";
import { startWorkerForm } from "./forms/worker.ts";
import { startLinks } from "./links.ts";
import { type Observer, startObserver } from "./observer.ts";

export interface Cluster {
  readonly sandbox: Sandbox;
  readonly form: Form;
  readonly observer: Observer;
  stop(): Promise<void>;
}

/** KubeVirt's back-off in the sandbox. It is much shorter than the real back-off. */
const KUBEVIRT_BACKOFF_SECONDS = 0.05;
/**
 * With these kubelet settings, a node reports memory pressure as soon as less than 2Gi is available. The kubelet evicts
 * no pod, because the grace period of 1 h is longer than a run.
 */
const PRESSURE = {
  evictionSoft: { "memory.available": "2Gi" },
  evictionSoftGracePeriod: { "memory.available": "1h" },
  evictionPressureTransitionPeriod: "10ms",
  nodeStatusUpdateFrequency: "0s",
};
const OPTIONAL = [
  ...GUARD_FILES,
  "optional/maintenance/maintenance.yaml",
  "optional/migration-policy/migration-policy.yaml",
  "optional/descheduler-support/descheduler-support.yaml",
];
/** virt-handler tolerates only this taint. */
const TOLERANT = { nodePlacement: { tolerations: [{ key: TAINT.key, operator: "Exists", effect: TAINT.effect }] } };
const START = { Worker: startWorkerForm, InCluster: startInClusterForm } as const satisfies Record<FormName, unknown>;

export async function startCluster(name: FormName): Promise<Cluster> {
  const sandbox = await startSandboxAsChosen({ terminationSeconds: 0.05, eviction: PRESSURE, virtHandlerPods: true });
  const { client, caPem, url } = sandbox;
  await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: { spec: { workloads: TOLERANT } } });
  if (isSimulated(sandbox)) sandbox.migrations.configure({ backoffSeconds: KUBEVIRT_BACKOFF_SECONDS });
  else await forgoBackoff(client);
  const links = await startLinks({ url, caPem });
  // The relay and the replicas of the form InCluster run in this process, so this process must trust the sandbox's CA.
  setDefaultCACertificates([...getCACertificates("default"), caPem]);
  const form = await START[name]({ sandbox, links, optional: OPTIONAL });
  const observer = await startObserver(client);
  return {
    sandbox,
    form,
    observer,
    async stop() {
      await observer.stop();
      await form.stop();
      await links.stop();
      await sandbox.stop();
    },
  };
}

const BACKOFF_POLICY = "chaos-no-backoff";
const MIGRATIONS = {
  apiGroups: ["kubevirt.io"],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["virtualmachineinstancemigrations"],
};

/**
 * Creates an admission policy that adds an annotation to each new migration. The annotation switches off KubeVirt's
 * back-off.
 */
async function forgoBackoff(client: KubeClient): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: BACKOFF_POLICY };
  const expression = `Object{metadata: Object.metadata{annotations: {"${ANNOTATION.ignoreMigrationBackoff}": ""}}}`;
  const spec = {
    matchConstraints: { resourceRules: [MIGRATIONS] },
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
  };
  const policy = { apiVersion, kind: "MutatingAdmissionPolicy", metadata, spec };
  const kind = "MutatingAdmissionPolicyBinding";
  const binding = { apiVersion, kind, metadata, spec: { policyName: BACKOFF_POLICY } };
  await applyManifests(client, [policy, binding]);
}

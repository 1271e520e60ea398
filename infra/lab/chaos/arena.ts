/** What stays up over many runs: a sandbox, Lifeboat installed in one of its forms, its way to the cluster. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { isSimulated, type Sandbox, type SimulatedSandbox } from "../../sandbox/sandbox.ts";
import { startSandboxAsChosen } from "../stage/control-plane.ts";
import { forgoBackoff } from "./forgo-backoff.ts";
import type { Form, FormName } from "./form.ts";
import { startInClusterForm } from "./in-cluster-form.ts";
import { MAX_POD_GRACE_SECONDS, SOFT_PATIENCE_SECONDS } from "./plan.ts";
import { startLinks } from "./links.ts";
import { type Observer, startObserver } from "./observer.ts";
import { startWorkerForm } from "./worker-form.ts";

export interface Arena extends Form {
  readonly sandbox: Sandbox;
  readonly observer: Observer;
  /** Of the API server and on Lifeboat's way to it; absent: as at first. */
  closeIdleAfter(ms?: number): void;
}

/** Short times; a pause that outlasts a run where the real one outlasts a drain. */
const KUBEVIRT_BACKOFF_SECONDS = 0.05;
/** Reported at once; want of memory is acted upon never, for what the kubelet kills is lost, want of process IDs soon. */
const PRESSURE = {
  evictionSoft: { "memory.available": "2Gi", "pid.available": "1k" },
  evictionSoftGracePeriod: { "memory.available": "1h", "pid.available": `${SOFT_PATIENCE_SECONDS}s` },
  evictionMaxPodGracePeriod: MAX_POD_GRACE_SECONDS,
  evictionPressureTransitionPeriod: "10ms",
};
const OPTIONAL = [
  "optional/guard/guard.yaml",
  "optional/migration-policy/migration-policy.yaml",
  "optional/descheduler-support/descheduler-support.yaml",
  "optional/descheduling/descheduling.yaml",
  "optional/shield/shield.yaml",
];
const START = { Worker: startWorkerForm, InCluster: startInClusterForm } as const satisfies Record<FormName, unknown>;

/** For what a fault of the plan does to a control plane that is simulated; none of a real one's does. */
export function simulatedIn({ sandbox }: Arena): SimulatedSandbox {
  if (!isSimulated(sandbox)) throw new Error("the control plane is a real one");
  return sandbox;
}

export async function startArena(name: FormName, onLog?: (line: string) => void): Promise<Arena> {
  const sandbox = await startSandboxAsChosen({
    terminationSeconds: 0.05,
    eviction: PRESSURE,
    featureGates: ["Plugins"],
  });
  const { client, caPem, url } = sandbox;
  if (isSimulated(sandbox)) sandbox.migrations.configure({ backoffSeconds: KUBEVIRT_BACKOFF_SECONDS });
  else await forgoBackoff(client);
  const links = await startLinks({ url, caPem });
  // Requests to Lifeboat's address, by the relay, are this process's own.
  setDefaultCACertificates([...getCACertificates("default"), caPem]);
  const form = await START[name]({ sandbox, links, optional: OPTIONAL, ...(onLog && { onLog }) });
  const observer = await startObserver(client);
  return {
    ...form,
    sandbox,
    observer,
    closeIdleAfter(ms) {
      if (isSimulated(sandbox)) sandbox.apiServer.closeIdleAfter(ms);
      links.closeIdleAfter(ms);
    },
    async stop() {
      await observer.stop();
      await form.stop();
      await links.stop();
      await sandbox.stop();
    },
  };
}

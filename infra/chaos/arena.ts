/**
 * What stays up over many runs: a sandbox with Lifeboat's manifests, the Workers' address and their way to the cluster.
 * Owns: starting and stopping it. Does not own: what happens in it (perform-run.ts).
 */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Relay } from "../relay/relay.ts";
import { applyLifeboat } from "../tools/apply.ts";
import { type Sandbox, startSandbox } from "../sandbox/sandbox.ts";
import { installRelay, startRelayBeside } from "../tools/relay.ts";
import { type Front, startFront } from "./front.ts";
import { type Instances, startInstances } from "./instances.ts";
import { MAX_POD_GRACE_SECONDS, SOFT_PATIENCE_SECONDS } from "./plan.ts";
import { startLinks } from "./links.ts";
import { type Observer, startObserver } from "./observer.ts";

export interface Arena {
  readonly sandbox: Sandbox;
  readonly front: Front;
  readonly instances: Instances;
  readonly observer: Observer;
  /** As deployed beside Lifeboat: it tells the Worker that answers at the address. */
  startRelay(): Pick<Relay, "stop">;
  /** Of the API server and on the Workers' way to it; absent: as at first. */
  closeIdleAfter(ms?: number): void;
  stop(): Promise<void>;
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
const WEBHOOK_TOKEN = "webhook-token-of-the-chaos-runs";
const RELAY_SECRET = `whsec_${Buffer.alloc(32, "relay of the chaos runs").toString("base64")}`;

export async function startArena(onLog?: (line: string) => void): Promise<Arena> {
  const sandbox = await startSandbox({ terminationSeconds: 0.05, eviction: PRESSURE });
  const { client, authority, caPem, url } = sandbox;
  sandbox.migrations.configure({ backoffSeconds: KUBEVIRT_BACKOFF_SECONDS });
  const front = await startFront(authority);
  const asked = { url: front.url, webhookToken: WEBHOOK_TOKEN, caPem };
  const { token } = await applyLifeboat(client, { ...asked, optional: OPTIONAL });
  const links = await startLinks({ url, caPem });
  const site = { authority, links, token, webhookToken: WEBHOOK_TOKEN, relaySecret: RELAY_SECRET };
  const instances = await startInstances({ ...site, ...(onLog && { onLog }) });
  const observer = await startObserver(client);
  // The relay's requests to Lifeboat's address are this process's own.
  setDefaultCACertificates([...getCACertificates("default"), caPem]);
  const endpoint = new URL(`${front.url}/events`);
  const relayTo = { kubeConfig: await installRelay(sandbox), endpoint, secret: RELAY_SECRET, fetch };
  return {
    sandbox,
    front,
    instances,
    observer,
    startRelay: () => startRelayBeside(relayTo),
    closeIdleAfter(ms) {
      sandbox.apiServer.closeIdleAfter(ms);
      links.closeIdleAfter(ms);
    },
    async stop() {
      await observer.stop();
      await instances.stop();
      await front.stop();
      await links.stop();
      await sandbox.stop();
    },
  };
}

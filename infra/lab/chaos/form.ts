/**
 * The forms in which Lifeboat is installed: a Worker outside of the cluster (worker-form.ts), and replicas inside of it
 * (in-cluster-form.ts).
 */
import type { Relay } from "../../relay/relay.ts";
import type { Front } from "./front.ts";
import type { Instances } from "./instances.ts";

export const FORMS = ["Worker", "InCluster"] as const;
export type FormName = (typeof FORMS)[number];

export interface Form {
  readonly front: Front;
  readonly instances: Instances;
  /** Before the instances of a run are started. `certificateSeconds`: how long the certificate is still valid. */
  begin(certificateSeconds?: number): Promise<void>;
  /** As deployed beside Lifeboat: it tells the Worker that answers at the address. */
  startRelay(): Pick<Relay, "stop">;
  /** False: its token does not change. */
  renewToken(): Promise<boolean>;
  /** Why the API server cannot ask it now, in words; `names`: of the instances that are there. */
  problems(names: readonly string[]): Promise<readonly string[]>;
  stop(): Promise<void>;
}

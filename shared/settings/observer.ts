/** With what a cluster is observed. */
import type { Client } from "../kube/client.ts";
import type { ClusterError } from "../kube/failures.ts";
import type { Settings } from "./settings.ts";

export interface Observer {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly now: Date;
  /** Called with what could not be observed, and can wait. */
  readonly onFailure?: (what: string, failure: ClusterError) => void;
}

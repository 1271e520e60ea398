/** What `lifeboat doctor` has found in a cluster. */
import { API_GROUP } from "../../../shared/cluster/paths.ts";
import type { ConfigurationFacts } from "../../../shared/cluster/kinds/lifeboat.ts";
import type { KubeVirtFacts } from "../../../shared/cluster/kinds/kubevirt.ts";
import type { WebhookFacts } from "../../../shared/policy/budget/budget-mode.ts";
import type { InstalledWebhooks, WebhookDoor } from "../../../shared/policy/webhooks/facts.ts";
import type { TokenSecret } from "../install/token.ts";
import type { Read } from "./check.ts";
import type { Granted, Permission } from "./permissions.ts";

/** Groups and versions that matter. */
export const API = {
  kubevirt: "kubevirt.io/v1",
  lifeboat: API_GROUP,
  plugins: "plugin.kubevirt.io/v1alpha1",
  apps: "apps/v1",
} as const;

export interface Facts {
  readonly now: Date;
  /** Of the kubeconfig. */
  readonly context: string;
  readonly server: string;
  readonly version: Read<VersionFacts>;
  /** The reader's own. */
  readonly own: Read<readonly Answered<Permission>[]>;
  /** Resources by group and version, of the groups that matter. */
  readonly served: Read<ReadonlyMap<string, readonly string[]>>;
  readonly kubevirt: Read<KubeVirtSeen | undefined>;
  /** KubeVirt's own. */
  readonly reviewers: Read<readonly WebhookFacts[] | undefined>;
  readonly configuration: Read<ConfigurationFacts | undefined>;
  readonly webhooks: Readonly<Record<WebhookDoor, Read<InstalledWebhooks | undefined>>>;
  /** Of Lifeboat's accounts. */
  readonly granted: Read<readonly Answered<Granted>[]>;
  readonly trial: Read<EvictionTrial>;
  readonly relay: Read<DeploymentFacts | undefined>;
  /** Lifeboat in the cluster instead of a Worker, with the relay in the same process. */
  readonly inside: Read<DeploymentFacts | undefined>;
  readonly site: Read<SiteFacts | undefined>;
  /** Secrets that hold tokens of Lifeboat's account, for a Worker. */
  readonly tokens: Read<readonly Pick<TokenSecret, "name" | "createdAt" | "isUsed">[]>;
  readonly hasPlugin: Read<boolean>;
}

export interface VersionFacts {
  readonly text: string;
  readonly minor: number | undefined;
}

export type Answered<P extends Permission> = P & { readonly allowed: boolean };

export interface KubeVirtSeen {
  readonly facts: KubeVirtFacts;
  readonly name: string;
  /** As written; empty: it does not say. */
  readonly version: string;
  readonly bandwidthPerMigration: string;
  readonly workloadUpdateMethods: readonly string[];
}

/** A dry-run eviction of a VM's pod. */
export type EvictionTrial =
  | { readonly pod: undefined; readonly why: string }
  | { readonly pod: string; readonly code: number; readonly message: string; readonly warnings: string };

export interface DeploymentFacts {
  readonly wanted: number;
  readonly available: number;
  readonly message: string;
}

/** The relay's ConfigMap. */
export interface SiteFacts {
  readonly url: string;
  readonly cluster: string;
}

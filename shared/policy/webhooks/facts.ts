/** The ValidatingWebhookConfigurations that make an API server ask Lifeboat, as they are found there. */
import type { Settings } from "../settings.ts";

export interface InstalledWebhook {
  readonly name: string;
  /** As the API server calls it, a Service too. Holds the webhook token: never to be told. */
  readonly url: string | undefined;
  readonly isService: boolean;
  readonly rules: readonly WebhookRule[];
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  /** `namespaceSelector` and `objectSelector`, where they leave anything out. */
  readonly selectors: readonly string[];
  readonly failurePolicy: string;
  readonly matchPolicy: string;
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
}

export interface WebhookRule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: string;
}

export interface InstalledWebhooks {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly webhooks: readonly InstalledWebhook[];
}

/** `Unread`: it may not be read, or the API server did not say. */
export type Installation = InstalledWebhooks | "Absent" | "Unread";

export type WebhookDoor = "evictions" | "deletions";
export const WEBHOOK_DOORS = ["evictions", "deletions"] as const satisfies readonly WebhookDoor[];

export interface WebhookExpectation {
  readonly door: WebhookDoor;
  /** Lifeboat's name of the cluster. */
  readonly cluster: string;
  /** Each of them opens the door. Never to be told. */
  readonly tokens: readonly string[];
  /** Lifeboat's own address, where it knows that. */
  readonly publicUrl: string | undefined;
  readonly settings: Pick<Settings, "featureGates" | "guard">;
}

export interface Findings {
  readonly problems: readonly string[];
  readonly remarks?: readonly string[];
}

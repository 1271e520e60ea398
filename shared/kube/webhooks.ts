/** Webhooks of ValidatingWebhookConfigurations, as they are installed. */

/** A webhook of a ValidatingWebhookConfiguration. */
export interface WebhookFacts {
  readonly failurePolicy: string;
  readonly rules: readonly { readonly operations: readonly string[]; readonly resources: readonly string[] }[];
  /** Texts of its match conditions. */
  readonly matchConditions: readonly string[];
  /** Whether a selector of namespaces or objects leaves any out. */
  readonly isSelective: boolean;
}

export interface InstalledWebhook {
  readonly name: string;
  /** As the API server calls it, a Service too. Holds the webhook token: never to be logged. */
  readonly url: string | undefined;
  readonly isService: boolean;
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  /** `namespaceSelector` and `objectSelector`, where they leave anything out. */
  readonly selectors: readonly string[];
  readonly failurePolicy: string;
  readonly matchPolicy: string;
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
}

export interface InstalledWebhooks {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly webhooks: readonly InstalledWebhook[];
}

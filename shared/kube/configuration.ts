/** The LifeboatConfiguration, as it is read, and the conditions of its status. */

/** As Kubernetes' metav1.Condition has it. */
export interface Condition {
  readonly type: "Ready" | "Permitted" | "CredentialsValid" | "WebhookCalled" | "ReviewsDecided";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** Of the object, as it was read. */
export interface ConfigurationObserved {
  readonly resourceVersion: string;
  readonly generation: number;
  readonly conditions: readonly (Pick<Condition, "reason" | "message" | "lastTransitionTime"> & {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration: number;
  })[];
}

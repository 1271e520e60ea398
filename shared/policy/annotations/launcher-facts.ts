/** Pods whose annotations are changed: as little of each as that takes. */
import type { NamespacedName } from "../facts.ts";

/** A pod whose annotations can be changed on condition of what they were. */
export interface AnnotatedPod extends NamespacedName {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Whether the map exists at all. */
  readonly hasAnnotations: boolean;
  /** As far as they are known here. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** A launcher pod, as small as annotating it takes: there is one for each VMI, and for a while two. */
export interface LauncherFacts extends AnnotatedPod {
  /** Of the VMI it runs, or is to run. */
  readonly vmiUID: string;
  readonly phase: string;
  readonly nodeName?: string;
  readonly deleting: boolean;
  /** Milliseconds since the epoch, by the API server's clock; 0 if it does not say. */
  readonly createdAt: number;
}

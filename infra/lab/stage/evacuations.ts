/** The custom resource `Evacuation`, with the fields that tests and tools read. */
import type { KubeObject, Resource } from "../../sandbox/index.ts";

export interface Evacuation extends KubeObject {
  readonly spec: {
    readonly virtualMachineInstance: { readonly name: string };
    readonly retryAt?: string;
    readonly cause?: string;
    readonly by?: string;
    readonly intent?: "Evacuate" | "Withdrawn";
  };
  readonly status?: {
    readonly virtualMachineInstanceUID?: string;
    readonly sourceNode?: string;
    readonly targetNode?: string;
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly attempts?: number;
    readonly completionTime?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

export const evacuations: Resource<Evacuation> = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "Evacuation",
  plural: "evacuations",
  namespaced: true,
};

const ENDS = ["Moved", "Restarted", "Stopped", "Abandoned", "Withdrawn", "Duplicate", "Gone"] as const;
export type Ending = (typeof ENDS)[number];

/** Returns the final phase of the Evacuation. Returns undefined if the Evacuation is in progress. */
export function endingOf({ status }: Evacuation): Ending | undefined {
  return ENDS.find((phase) => phase === status?.phase);
}

export interface VmOutcome {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly outcome?: string;
  readonly targetNode?: string;
}

export interface NodeEvacuation extends KubeObject {
  readonly spec: { readonly nodeName: string; readonly [field: string]: unknown };
  readonly status?: {
    readonly phase?: string;
    readonly message?: string;
    readonly verdict?: string;
    readonly virtualMachines?: Readonly<Record<string, number>>;
    readonly blockers?: readonly {
      readonly name: string;
      readonly reason: string;
      readonly message: string;
      readonly since?: string;
    }[];
    readonly outcomes?: readonly VmOutcome[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const NODE_ENDS: readonly unknown[] = ["Evacuated", "Refused", "Expired", "Withdrawn", "Gone"];

export function hasEnded({ status }: NodeEvacuation): boolean {
  return NODE_ENDS.includes(status?.phase);
}

export const nodeEvacuations: Resource<NodeEvacuation> = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "NodeEvacuation",
  plural: "nodeevacuations",
  namespaced: false,
};

export interface RollingMaintenance extends KubeObject {
  readonly spec: { readonly nodes: object; readonly [field: string]: unknown };
  readonly status?: {
    readonly phase?: string;
    readonly message?: string;
    readonly nodes?: readonly { readonly name: string; readonly phase: string; readonly message?: string }[];
  };
}

export const rollingMaintenances: Resource<RollingMaintenance> = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "RollingMaintenance",
  plural: "rollingmaintenances",
  namespaced: false,
};

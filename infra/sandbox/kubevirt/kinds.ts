/**
 * KubeVirt's custom kinds, as data for an API server: what its CRDs say.
 * Owns: names, scope, which of them have a status subresource, what kubectl prints. Does not own: their fields.
 */
import type { CustomKind } from "../apiserver/kinds/custom.ts";

const AGE = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" } as const;
const PHASE = { name: "Phase", type: "string", jsonPath: ".status.phase" } as const;
const READY = { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" } as const;

const kubevirt = { group: "kubevirt.io", versions: ["v1", "v1alpha3"], scope: "Namespaced" } as const;

export const KUBEVIRT_KINDS: readonly CustomKind[] = [
  {
    ...kubevirt,
    plural: "virtualmachineinstances",
    singular: "virtualmachineinstance",
    kind: "VirtualMachineInstance",
    shortNames: ["vmi", "vmis"],
    categories: ["all"],
    // Its status is an ordinary field: any update may carry it, and only virt-api's webhook says whose.
    hasStatus: false,
    columns: [
      AGE,
      PHASE,
      { name: "IP", type: "string", jsonPath: ".status.interfaces[0].ipAddress" },
      { name: "NodeName", type: "string", jsonPath: ".status.nodeName" },
      READY,
      {
        name: "Live-Migratable",
        type: "string",
        jsonPath: ".status.conditions[?(@.type=='LiveMigratable')].status",
        priority: 1,
      },
      { name: "Paused", type: "string", jsonPath: ".status.conditions[?(@.type=='Paused')].status", priority: 1 },
    ],
  },
  {
    ...kubevirt,
    plural: "virtualmachineinstancemigrations",
    singular: "virtualmachineinstancemigration",
    kind: "VirtualMachineInstanceMigration",
    shortNames: ["vmim", "vmims"],
    categories: ["all"],
    hasStatus: true,
    columns: [PHASE, { name: "VMI", type: "string", jsonPath: ".spec.vmiName" }],
  },
  {
    ...kubevirt,
    plural: "virtualmachines",
    singular: "virtualmachine",
    kind: "VirtualMachine",
    shortNames: ["vm", "vms"],
    categories: ["all"],
    hasStatus: true,
    columns: [AGE, { name: "Status", type: "string", jsonPath: ".status.printableStatus" }, READY],
  },
  {
    ...kubevirt,
    plural: "kubevirts",
    singular: "kubevirt",
    kind: "KubeVirt",
    shortNames: ["kv", "kvs"],
    categories: ["all"],
    hasStatus: true,
    columns: [AGE, PHASE],
  },
  {
    group: "migrations.kubevirt.io",
    versions: ["v1alpha1"],
    scope: "Cluster",
    plural: "migrationpolicies",
    singular: "migrationpolicy",
    kind: "MigrationPolicy",
    shortNames: [],
    categories: ["all"],
    hasStatus: true,
    columns: [],
  },
];

/** What lists of a fake cluster select. */
import type { Listing } from "../../../shared/kube/client.ts";
import type { MigrationFacts, PodFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import * as names from "../../../shared/kube/names.ts";
import type { FakeCluster } from "./fake-cluster.ts";

interface Selectable {
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

export function listOf(fake: FakeCluster, resource: string, listing: Listing & { readonly as?: unknown }) {
  const { as } = listing;
  switch (resource) {
    case "pods": {
      const pods = fake.pods.list((pod) => isSelected(ofPod(pod), listing));
      return as === undefined ? pods : pods.map(inFull);
    }
    case "nodes": {
      const nodes = fake.nodes.list();
      return as === undefined
        ? nodes
        : nodes.map((node) => ({ labels: {}, allocatable: { pods: 110, memory: 64 * 2 ** 30 }, ...node }));
    }
    case "virtualmachineinstances":
      return fake.vmis.list((vmi) => isSelected(ofVmi(vmi), listing));
    case "virtualmachineinstancemigrations":
      return fake.migrations.list((migration) => isSelected(ofMigration(migration), listing));
    case "evacuations":
      return fake.evacuations.list((evacuation) => isSelected(ofEvacuation(evacuation), listing));
    case "poddisruptionbudgets": {
      const isOurs = listing.labels === undefined ? undefined : true;
      return fake.budgets.list(
        (one) =>
          (listing.namespace ?? one.namespace) === one.namespace && (isOurs ?? one.managedByUs) === one.managedByUs,
      );
    }
    case "kubevirts":
      return fake.kubeVirt === undefined ? [] : [fake.kubeVirt];
    case "events": {
      const refusal = fake.refusals.get(listing.fields?.["involvedObject.uid"] ?? "");
      return refusal === undefined ? [] : [{ ...refusal, message: `plugin ${names.SHIELD_PLUGIN}` }];
    }
    default:
      return [];
  }
}

function isSelected({ namespace, labels, fields }: Selectable, listing: Listing): boolean {
  return (
    (listing.namespace ?? namespace) === namespace &&
    Object.entries(listing.labels ?? {}).every(([key, wanted]) => {
      const value = labels[key];
      return wanted === true ? value !== undefined : [wanted].flat().some((one) => one === value);
    }) &&
    Object.entries(listing.fields ?? {}).every(([field, wanted]) => fields[field] === wanted) &&
    Object.entries(listing.unlike ?? {}).every(([field, unwanted]) => !unwanted.includes(fields[field] ?? ""))
  );
}

function ofPod({ namespace, labels, nodeName, phase }: PodFacts): Selectable {
  const launcher = { [names.COMPONENT_LABEL]: labels[names.COMPONENT_LABEL] };
  return {
    namespace,
    labels: { ...launcher, ...labels },
    fields: { "spec.nodeName": nodeName, "status.phase": phase },
  };
}

function ofVmi({ namespace, nodeName, isMigrating, shield }: VmiFacts): Selectable {
  const target = isMigrating ? "a node" : undefined;
  const labels = { [names.NODE_NAME_LABEL]: nodeName, [names.TARGET_NODE_LABEL]: target, [names.SHIELD_LABEL]: shield };
  return { namespace, labels, fields: {} };
}

function ofMigration({ namespace, vmiName }: MigrationFacts): Selectable {
  return { namespace, labels: { [names.VMI_NAME_LABEL]: vmiName }, fields: {} };
}

function ofEvacuation({ namespace, spec, status }: EvacuationFacts): Selectable {
  const fields = {
    "spec.virtualMachineInstance.name": spec.vmiName,
    "status.phase": status.phase,
    "status.sourceNode": status.sourceNode,
  };
  return { namespace, labels: {}, fields };
}

/** For every view of pods. What the pods of a fake cluster do not say, they do not ask for. */
function inFull(pod: PodFacts) {
  return {
    resourceVersion: "1",
    hasAnnotations: true,
    createdAt: 0,
    vmiUID: pod.labels[names.CREATED_BY_LABEL] ?? "",
    placement: { nodeSelector: {} },
    antiAffinity: [],
    claims: [],
    requests: {},
    localStorage: false,
    finalizers: [],
    unchecked: [],
    ...pod,
    nodeName: pod.nodeName ?? "",
  };
}

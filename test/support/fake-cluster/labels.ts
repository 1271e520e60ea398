/** What the requests to a fake cluster are called in tests. */
import type { Listing, WriteOptions } from "../../../shared/kube/client.ts";
import { EVACUATION_LABEL, SHIELD_LABEL, SKIP_BACKOFF_ANNOTATION } from "../../../shared/kube/names.ts";

const ONE: Partial<Record<string, string>> = {
  pods: "Pod",
  nodes: "Node",
  events: "Event",
  poddisruptionbudgets: "Budget",
  virtualmachineinstances: "Vmi",
  virtualmachineinstancemigrations: "Migration",
  evacuations: "Evacuation",
  lifeboatconfigurations: "Configuration",
  configmaps: "ConfigMap",
  validatingwebhookconfigurations: "OwnWebhooks",
};

export function labelOfGet(resource: string, { expect }: { readonly expect?: unknown }): string {
  if (resource === "version") return expect === undefined ? "getMinorVersions" : "isTokenAccepted";
  if (resource === "plugins") return "hasPlugin";
  return `get${ONE[resource] ?? ` ${resource}`}`;
}

export function labelOfList(resource: string, listing: Listing & { readonly as?: unknown }): string {
  switch (resource) {
    case "kubevirts":
      return "getKubeVirt";
    case "events":
      return "getRefusal";
    case "poddisruptionbudgets":
      if (listing.limit !== undefined) return "isAnyBudget";
      return listing.namespace === undefined ? "listAllBudgets" : "listBudgets";
    case "pods":
      return labelOfPods(listing);
    case "nodes":
      return listing.as === undefined ? "listNodes" : "listNodesWithRoom";
    case "resourcequotas":
      return "listQuotas";
    case "persistentvolumes":
      return "listVolumes";
    default:
      return `list${ONE[resource] ?? ` ${resource}`}s`;
  }
}

function labelOfPods({ as, fields, labels, limit, unlike }: Listing & { readonly as?: unknown }): string {
  if (unlike !== undefined) return "listNeighbours";
  if (limit !== undefined) return "proveAnnotating";
  if (fields === undefined) return as === undefined ? "listPodsOf" : "listLaunchers";
  if (as !== undefined) return "listPreflightPods";
  return labels === undefined ? "listPodsOn" : "listLaunchersOn";
}

export function labelOfCount(resource: string): string {
  return `count${ONE[resource] ?? ` ${resource}`}s`;
}

/** Of the action that it is part of. */
export function labelOfWrite(
  verb: "create" | "patch" | "delete",
  resource: string,
  body: object,
  { subresource, dryRun }: WriteOptions,
): string {
  if (resource === "events") return "Event";
  if (dryRun === true) return "proveAnnotating";
  if (subresource === "eviction") return "Mark";
  if (verb !== "patch") return `${verb === "create" ? "Create" : "Delete"}${ONE[resource] ?? ` ${resource}`}`;
  return labelOfPatch(resource, body, subresource);
}

function labelOfPatch(resource: string, body: object, subresource: string | undefined): string {
  const text = JSON.stringify(body);
  switch (resource) {
    case "evacuations":
      if (subresource !== undefined) return "WriteStatus";
      if (text.includes("retryAt")) return "Retry";
      return text.includes("Withdrawn") ? "Withdraw" : "NameRequester";
    case "virtualmachineinstances":
      return labelOfVmiPatch(text);
    case "virtualmachineinstancemigrations":
      return text.includes(SKIP_BACKOFF_ANNOTATION) ? "SkipBackoff" : "AdoptMigration";
    case "lifeboatconfigurations":
      return "WriteConditions";
    default:
      return "AnnotatePod";
  }
}

function labelOfVmiPatch(text: string): string {
  if (text.includes(SHIELD_LABEL.replace("/", "~1"))) return "Shield";
  return text.includes(EVACUATION_LABEL.replace("/", "~1")) && !text.includes('"remove"') ? "Label" : "Unlabel";
}

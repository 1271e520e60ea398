/**
 * Finds the controller that raises a ResourceQuota while a VM moves, or that has its own rules for a migration's target
 * pod. Lifeboat recognizes the controller by the metadata of the quota. Upstream: pkg/controller/master/migration and
 * resourcequota of harvester/harvester; pkg/mtq-controller of kubevirt/managed-tenant-quota; rq-controller of
 * kubevirt/application-aware-quota.
 */
import type { FitNode } from "./fit.ts";

/** Metadata of a ResourceQuota that shows which controller raises it. */
export interface QuotaMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly managers: readonly string[];
}

interface QuotaController {
  readonly name: string;
  readonly isSeen: (marks: QuotaMarks, nodes: readonly Pick<FitNode, "labels">[]) => boolean;
  /** The resources that the controller raises. If absent, it raises all resources. */
  readonly raises?: readonly string[];
}

const HARVESTER = "harvesterhci.io/";
const HARVESTER_NODE = `${HARVESTER}managed`;
const HARVESTER_SKIPS = `${HARVESTER}skipResourceQuotaAutoScaling`;
const RANCHER_DEFAULT = "resourcequota.management.cattle.io/default-resource-quota";
const AAQ = "aaq.kubevirt.io";

const CONTROLLERS: readonly QuotaController[] = [
  { name: "Harvester", isSeen: isHarvesters, raises: ["limits.cpu", "limits.memory"] },
  { name: "managed-tenant-quota", isSeen: ({ managers }) => managers.some((one) => /^mtq[-_]controller$/.test(one)) },
  { name: "application-aware-quota", isSeen: ({ labels }) => Object.hasOwn(labels, AAQ) },
];

/**
 * Returns the controller that raises the quota for this resource. Returns undefined if the quota's metadata shows no
 * controller. `resource` is the name in the quota.
 */
export function raisedBy(
  resource: string,
  marks: QuotaMarks,
  nodes: readonly Pick<FitNode, "labels">[],
): string | undefined {
  const isIts = ({ isSeen, raises }: QuotaController) => (raises?.includes(resource) ?? true) && isSeen(marks, nodes);
  return CONTROLLERS.find(isIts)?.name;
}

function isHarvesters(
  { labels, annotations, managers }: QuotaMarks,
  nodes: readonly Pick<FitNode, "labels">[],
): boolean {
  if (annotations[HARVESTER_SKIPS] === "true" || labels[RANCHER_DEFAULT] !== "true") return false;
  const hasWritten =
    managers.includes("harvester") || Object.keys(annotations).some((key) => key.startsWith(HARVESTER));
  return hasWritten || nodes.some((node) => node.labels[HARVESTER_NODE] === "true");
}

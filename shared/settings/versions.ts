/**
 * Lists everything that depends on a version of Kubernetes or KubeVirt, and the oldest supported versions. Each number
 * is the minor version of a 1.x release.
 */

const PRODUCTS = { kubernetes: "Kubernetes", kubevirt: "KubeVirt" } as const;
export type Product = keyof typeof PRODUCTS;

export interface VersionRow {
  readonly of: Product;
  readonly since: number;
  readonly does: string;
  readonly lifeboat: string;
  /** The files that depend on this row. Each of these files mentions the row in a comment. */
  readonly usedIn: readonly string[];
}

export const VERSIONS = {
  asynchronousPreemption: {
    of: "kubernetes",
    since: 33,
    does: "the scheduler deletes a preemption's victims in parallel with its other work",
    lifeboat: "needs this so that refused deletions do not delay the scheduler",
    usedIn: ["shared/settings/guarded.ts"],
  },
  comparableVersions: {
    of: "kubernetes",
    since: 35,
    does: "Kubernetes defines resource versions as numbers that grow",
    lifeboat: "the relay compares resource versions, also those of older API servers",
    usedIn: ["infra/relay/stores.ts"],
  },
  deviceTaints: {
    of: "kubernetes",
    since: 36,
    does: "by default, Kubernetes deletes pods whose device has a NoExecute taint",
    lifeboat: "the guard refuses these deletions",
    usedIn: ["shared/settings/guarded.ts"],
  },
  noBudgets: {
    of: "kubevirt",
    since: 6,
    does: "KubeVirt makes no disruption budgets, and deletes each budget whose controller is a VMI",
    lifeboat: "makes budgets. A VMI owns its budget, but is not the budget's controller",
    usedIn: ["shared/act/manifests.ts", "shared/budget/budget.ts"],
  },
  evacuateCancel: {
    of: "kubevirt",
    since: 7,
    does: "a VMI has the subresource `evacuate/cancel`",
    lifeboat: "needs it to clear evacuationNodeName",
    usedIn: ["shared/act/ask-kubevirt.ts"],
  },
  blockedMigrations: {
    of: "kubevirt",
    since: 8,
    does: "a condition of a migration says what blocks it: a backup, a utility volume or, between clusters, the other cluster",
    lifeboat: "waits until nothing blocks the migration, and names the obstacle",
    usedIn: ["shared/kube/schemas/kubevirt.ts"],
  },
  targetVendor: {
    of: "kubevirt",
    since: 8,
    does: "a migration's target pod requires the source's CPU vendor",
    lifeboat: "requires that vendor in all forecasts: migrations to another vendor also fail in older versions",
    usedIn: ["shared/preflight/host-cpu.ts"],
  },
  plugins: {
    of: "kubevirt",
    since: 9,
    does: "virt-handler can ask a Plugin before it shuts a guest down",
    lifeboat: "needs such a Plugin for `--with shield` (experimental)",
    usedIn: ["shared/shield/feature.ts"],
  },
  shortNames: {
    of: "kubevirt",
    since: 10,
    does: "KubeVirt may shorten the VM's name in a label of its migrations. In older versions, the API server refuses migrations of a VM whose name has more than 63 characters",
    lifeboat:
      "in older versions, the forecast says that such a VM cannot move. From this version on, the forecast is Unknown",
    usedIn: ["shared/preflight/held.ts"],
  },
} as const satisfies Readonly<Record<string, VersionRow>>;

export const OLDEST = {
  kubernetes: VERSIONS.asynchronousPreemption.since,
  kubevirt: VERSIONS.evacuateCancel.since,
} as const;

/** The minor versions of the products. Undefined if the version is unknown. */
export type MinorVersions = Readonly<Record<Product, number | undefined>>;

export function isOld(of: Product, minor: number | undefined): minor is number {
  return isBefore({ since: OLDEST[of] }, minor);
}

/** Returns true if a cluster with this minor version is too old for the behavior. */
export function isBefore({ since }: Pick<VersionRow, "since">, minor: number | undefined): minor is number {
  return minor !== undefined && minor < since;
}

/** Renders a version, for example `KubeVirt 1.9`. */
export function versionText(of: Product, minor: number): string {
  return `${PRODUCTS[of]} 1.${minor}`;
}

/** What Lifeboat has to be allowed to do in a cluster, tried out without changing anything, for the conditions. */
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import type { Right } from "../shared/cluster/identity-reviews.ts";
import { deschedulingClient } from "../shared/descheduling/client.ts";
import { isAnnotating } from "../shared/policy/annotations/descheduler-annotations.ts";
import { areBudgetsWanted } from "../shared/policy/budget/budget-mode.ts";
import type { Trial } from "../shared/policy/configuration-status.ts";
import type { Settings } from "../shared/policy/settings.ts";
import { SETTINGS_SECONDS } from "./reconciling.ts";
import type { Target } from "./target.ts";

export async function tryPermissions(target: Target, cluster: Cluster, settings: Settings): Promise<readonly Trial[]> {
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  return [
    await tried("kubevirt", () => cluster.getKubeVirt()),
    await tried("pods", () => cluster.canList("pods")),
    await tried("nodes", () => cluster.canList("nodes")),
    await tried("evacuations", () => cluster.canList("evacuations")),
    await tried("migrations", () => cluster.canList("virtualmachineinstancemigrations")),
    await tried("budgets", () => cluster.canList("poddisruptionbudgets")),
    await triedWrites(cluster, settings),
    ...(isAnnotating(settings) ? [await tried("annotations", () => cluster.proveAnnotating())] : []),
    ...(isDescheduling
      ? [await tried("descheduling", () => deschedulingClient(target.connection(SETTINGS_SECONDS)).getLease())]
      : []),
  ];
}

function write(verbs: string, group: string, resource: string, subresource?: string): readonly Right[] {
  return verbs.split(" ").map((verb) => ({ verb, group, resource, ...(subresource && { subresource }) }));
}

/** Without which no VM moves. */
const WRITES = [
  ...write("create patch", "lifeboat.dev", "evacuations"),
  ...write("patch", "lifeboat.dev", "evacuations", "status"),
  ...write("create patch delete", "kubevirt.io", "virtualmachineinstancemigrations"),
  ...write("patch", "kubevirt.io", "virtualmachineinstances"),
  ...write("create", "", "pods", "eviction"),
  ...write("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate"),
  ...write("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate/cancel"),
];
const BUDGETS = write("create patch delete", "policy", "poddisruptionbudgets");

/** Asked, not tried: a write that is tried may have been one. */
async function triedWrites(cluster: Cluster, settings: Settings): Promise<Trial> {
  const name = "writing";
  const rights = areBudgetsWanted(settings) ? [...WRITES, ...BUDGETS] : WRITES;
  const lacking: string[] = [];
  const asked = await tried(name, async () => {
    const answers = await Promise.all(rights.map((right) => cluster.mayI(right)));
    lacking.push(...rights.filter((_, at) => answers[at] === false).map(textOf));
  });
  if (lacking.length === 0) return asked;
  return { name, problem: { forbidden: true, message: `the service account may not ${lacking.join(", ")}` } };
}

function textOf({ verb, group, resource, subresource }: Right): string {
  const kind = group === "" ? resource : `${group}/${resource}`;
  return `${verb} ${kind}${subresource === undefined ? "" : `/${subresource}`}`;
}

const FORBIDDEN = 403;

async function tried(name: string, prove: () => Promise<unknown>): Promise<Trial> {
  try {
    await prove();
    return { name };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const { failure, message } = error;
    const forbidden = failure.reason === "Refused" && failure.code === FORBIDDEN;
    return { name, problem: { forbidden, message } };
  }
}

/** What Lifeboat has to be allowed to do in a cluster, tried out without changing anything, for the conditions. */
import * as z from "zod/mini";
import type { Client } from "../shared/kube/client.ts";
import { ClusterError, isForbidden } from "../shared/kube/failures.ts";
import { mayI, type Right } from "../shared/kube/reviews.ts";
import { kubeVirt, LAUNCHER } from "../shared/kube/selections.ts";
import { Launcher } from "../shared/kube/schemas/kubernetes.ts";
import type { Resource } from "../shared/kube/resources.ts";
import { isAnnotating } from "../shared/annotations/descheduler-annotations.ts";
import { areBudgetsWanted } from "../shared/settings/covered.ts";
import type { Trial } from "../shared/settings/conditions.ts";
import { DESCHEDULING, LIFEBOAT_NAMESPACE } from "../shared/kube/names.ts";
import { annotate } from "../shared/evacuation/patches.ts";
import type { Settings } from "../shared/settings/settings.ts";

export async function tryPermissions(cluster: Client, settings: Settings): Promise<readonly Trial[]> {
  const isListed = (resource: Resource) => () => cluster.list(resource, { limit: 1, as: z.unknown() });
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  return [
    await tried("kubevirt", () => kubeVirt(cluster)),
    await tried("pods", isListed("pods")),
    await tried("nodes", isListed("nodes")),
    await tried("evacuations", isListed("evacuations")),
    await tried("migrations", isListed("virtualmachineinstancemigrations")),
    await tried("budgets", isListed("poddisruptionbudgets")),
    await triedWrites(cluster, settings),
    ...(isAnnotating(settings) ? [await tried("annotations", () => tryAnnotating(cluster))] : []),
    ...(isDescheduling
      ? [
          await tried("descheduling", () =>
            cluster.get("leases", { namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULING }),
          ),
        ]
      : []),
  ];
}

/** Annotates a launcher pod with nothing, as a dry run. That it is gone or has changed is an answer too: it was permitted. */
export async function tryAnnotating(cluster: Client): Promise<void> {
  const [pod] = await cluster.list("pods", { labels: LAUNCHER, as: Launcher, limit: 1 });
  if (pod === undefined) return;
  await cluster.patch("pods", pod, annotate({ verb: "AnnotatePod", pod, add: {}, remove: [] }), { dryRun: true });
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
async function triedWrites(cluster: Client, settings: Settings): Promise<Trial> {
  const name = "writing";
  const rights = areBudgetsWanted(settings) ? [...WRITES, ...BUDGETS] : WRITES;
  const lacking: string[] = [];
  const asked = await tried(name, async () => {
    const answers = await Promise.all(rights.map((right) => mayI(right, cluster)));
    lacking.push(...rights.filter((_, at) => answers[at] === false).map(textOf));
  });
  if (lacking.length === 0) return asked;
  return { name, problem: { forbidden: true, message: `the service account may not ${lacking.join(", ")}` } };
}

function textOf({ verb, group, resource, subresource }: Right): string {
  const kind = group === "" ? resource : `${group}/${resource}`;
  return `${verb} ${kind}${subresource === undefined ? "" : `/${subresource}`}`;
}

async function tried(name: string, prove: () => Promise<unknown>): Promise<Trial> {
  try {
    await prove();
    return { name };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { name, problem: { forbidden: isForbidden(error), message: error.message } };
  }
}

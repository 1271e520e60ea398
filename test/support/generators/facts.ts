/** Parses the objects of a cluster into the facts that Lifeboat's decisions read. Skips objects that do not parse. */
import type * as z from "zod/mini";
import { Budget, Launcher, Node, Pod } from "../../../shared/kube/schemas/kubernetes.ts";
import { Migration } from "../../../shared/kube/schemas/kubevirt.ts";
import { Vmi } from "../../../shared/kube/schemas/vmi.ts";
import { Evacuation } from "../../../shared/kube/schemas/lifeboat.ts";
import { NodeWithResources, scheduledPodSchema } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { type Collections, PATH } from "./clusters.ts";
import type { Json } from "../json.ts";

function read<S extends z.ZodMiniType>(items: readonly Json[] = [], schema: S): readonly z.output<S>[] {
  return items.flatMap((item) => {
    const parsed = schema.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}

export function factsOf(found: Collections) {
  return {
    pods: read(found[PATH.pods], Pod),
    launchers: read(found[PATH.pods], Launcher),
    vmis: read(found[PATH.vmis], Vmi),
    evacuations: read(found[PATH.evacuations], Evacuation),
    migrations: read(found[PATH.migrations], Migration),
    budgets: read(found[PATH.budgets], Budget),
    nodes: read(found[PATH.nodes], Node),
  };
}

export function deschedulingFactsOf(found: Collections) {
  return {
    pods: read(found[PATH.pods], scheduledPodSchema()),
    nodes: read(found[PATH.nodes], NodeWithResources),
  };
}

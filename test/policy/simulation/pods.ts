/**
 * The launcher pods of a simulated cluster: where guests run, and where they are about to.
 * Owns: the pods, and which of them is the guest's. Does not own: what ends them (api-server.ts), the VMIs (cluster.ts).
 */
import type { Action } from "../../../shared/policy/action.ts";
import { isCompleted, type LauncherFacts, type PodFacts, type VmiFacts } from "../../../shared/policy/facts.ts";
import { pod } from "../fixtures.ts";
import { annotated } from "../launchers.ts";

const CREATED_BY = "kubevirt.io/created-by";

/** A launcher pod of the VMI on that node, ready. */
export function launcherOn(vmi: VmiFacts, uid: string, nodeName: string | undefined): PodFacts {
  const { nodeName: _, ...elsewhere } = pod({
    namespace: vmi.namespace,
    name: `virt-launcher-${vmi.name}-${uid}`,
    uid,
    labels: { "kubevirt.io": "virt-launcher", [CREATED_BY]: vmi.uid },
    annotations: { "kubevirt.io/domain": vmi.name },
    owners: [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: true }],
  });
  return { ...elsewhere, ...(nodeName === undefined ? {} : { nodeName }) };
}

export class Pods {
  readonly #byUid = new Map<string, PodFacts>();

  get(uid: string): PodFacts | undefined {
    return this.#byUid.get(uid);
  }

  put(pod: PodFacts): void {
    this.#byUid.set(pod.uid, pod);
  }

  remove(uid: string): void {
    this.#byUid.delete(uid);
  }

  all(): readonly PodFacts[] {
    return [...this.#byUid.values()];
  }

  of({ uid }: Pick<VmiFacts, "uid">): readonly PodFacts[] {
    return this.all().filter((one) => one.labels[CREATED_BY] === uid);
  }

  /** The pod that the guest runs in. */
  guestOf(vmi: VmiFacts): PodFacts | undefined {
    return this.of(vmi).find((one) => one.nodeName === vmi.nodeName && !isCompleted(one) && !one.deleting);
  }

  /** VMI UID to the number of its pods that have not ended. */
  active(): ReadonlyMap<string, number> {
    const living = this.all().filter((one) => !isCompleted(one));
    const byVmi = Map.groupBy(living, (one) => one.labels[CREATED_BY] ?? "");
    return new Map([...byVmi].map(([uid, own]) => [uid, own.length]));
  }

  launchers(): readonly LauncherFacts[] {
    return this.all().map(launcherFacts);
  }

  /** Whether it was as observed. */
  annotate(action: Extract<Action, { verb: "AnnotatePod" }>): boolean {
    const found = this.#byUid.get(action.pod.uid);
    const next = found && annotated(launcherFacts(found), action);
    if (found === undefined || next === undefined) return false;
    this.put({ ...found, annotations: next.annotations });
    return true;
  }
}

function launcherFacts({ labels, ...rest }: PodFacts): LauncherFacts {
  return { ...rest, resourceVersion: "1", hasAnnotations: true, vmiUID: labels[CREATED_BY] ?? "", createdAt: 0 };
}

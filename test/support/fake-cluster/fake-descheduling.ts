/** What descheduling alone asks of a cluster: evictions, and its Lease. */
import type { EvictionAnswer } from "../../../shared/kube/evict.ts";
import type { LeaseFacts } from "../../../shared/kube/schemas/kubernetes.ts";
import { LEASE_SECONDS } from "../../../shared/descheduling/client.ts";
import type { NamespacedName, PodFacts } from "../../../shared/kube/facts.ts";
import { isLauncher } from "../../../shared/kube/pod-kind.ts";
import { REQUEST_EVICT_ONLY_ANNOTATION } from "../../../shared/kube/names.ts";
import { without } from "../fixtures.ts";
import type { Shelf } from "./shelf.ts";

export class FakeDescheduling {
  lease: LeaseFacts = {};
  /** Names of pods, in the order in which their evictions were asked for. */
  readonly evictions: string[] = [];
  /** Instead of what an eviction usually gets. */
  readonly answers = new Map<string, EvictionAnswer>();
  readonly #pods: Shelf<PodFacts>;
  readonly #next: () => string;

  constructor(pods: Shelf<PodFacts>, next: () => string) {
    this.#pods = pods;
    this.#next = next;
  }

  /** A pod that is to be asked only is asked, as KubeVirt's webhook does it; any other one goes. */
  evict({ namespace, name, uid }: NamespacedName & { readonly uid: string }, dryRun = false): EvictionAnswer {
    if (!dryRun) this.evictions.push(name);
    const [answer, found] = [this.answers.get(name), this.#pods.get({ namespace, name })];
    if (answer !== undefined) return answer;
    if (found?.uid !== uid) return { code: 404, message: "not found" };
    if (isLauncher(found) || REQUEST_EVICT_ONLY_ANNOTATION in found.annotations) {
      return { code: 429, message: `Eviction triggered evacuation of ${name}` };
    }
    if (!dryRun) this.#pods.remove(found);
    return { code: 201, message: "" };
  }

  takeLease({ resourceVersion }: LeaseFacts, now: Date): LeaseFacts | "Conflict" {
    if (this.lease.resourceVersion !== resourceVersion) return "Conflict";
    const acquiredAt = now.toISOString();
    this.lease = { resourceVersion: this.#next(), holder: "lifeboat", acquiredAt, seconds: LEASE_SECONDS };
    return this.lease;
  }

  giveLeaseBack({ resourceVersion }: LeaseFacts): "Done" | "Conflict" {
    if (this.lease.resourceVersion !== resourceVersion) return "Conflict";
    this.lease = { ...without(this.lease, "holder"), resourceVersion: this.#next() };
    return "Done";
  }
}

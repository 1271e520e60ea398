/** What this isolate has just refused, for some seconds: a drain asks again every five. Memory may only refuse. */
import type { EvictionFacts } from "../shared/eviction/decide.ts";
import type { NamespacedName } from "../shared/kube/facts.ts";
import { keyOf } from "../shared/kube/objects.ts";

/** Every other request of a drain is answered by what the one before has read. */
const REMEMBERED_MS = 9000;
/** Some kilobytes each. */
const MOST = 1000;

export class Refusals {
  readonly #known = new Map<string, EvictionFacts>();

  /** Only while nothing moves: that a VM has left is to be seen at once. */
  note(cluster: string, pod: NamespacedName, facts: EvictionFacts): void {
    if (facts.vmi?.isMigrating !== false) return;
    const key = `${cluster}/${keyOf(pod)}`;
    // The oldest ones come first.
    this.#known.delete(key);
    this.#known.set(key, facts);
    for (const [first] of this.#known) if (this.#known.size > MOST) this.#known.delete(first);
  }

  find(cluster: string, pod: NamespacedName, now: Date): EvictionFacts | undefined {
    const facts = this.#known.get(`${cluster}/${keyOf(pod)}`);
    const age = facts && now.getTime() - facts.now.getTime();
    return age !== undefined && age >= 0 && age < REMEMBERED_MS ? facts : undefined;
  }
}

/** Evictions that this isolate has just refused: a drain asks again every five seconds. Memory may only refuse. */
import type { EvictionDecision, EvictionFacts } from "../shared/eviction/decide.ts";
import type { NamespacedName } from "../shared/kube/facts.ts";
import { keyOf } from "../shared/kube/objects.ts";

/** The one between is read anew. */
const REMEMBERED_MS = 9000;
/** Some hundred bytes each: no facts, which a tenant may make large. */
const MOST = 1000;

export interface Ruling {
  readonly decision: EvictionDecision;
  readonly warnings: readonly string[];
  /** Its name, if there is one. */
  readonly vmi: string | undefined;
}

export interface Asked {
  readonly cluster: string;
  readonly pod: NamespacedName;
  readonly request: EvictionFacts["request"];
}

export class Refusals {
  readonly #known = new Map<string, { readonly at: number; readonly ruling: Ruling; readonly vmi: string }>();

  note(asked: Asked, ruling: Ruling, now: Date): void {
    const key = keyFor(asked);
    // The oldest ones come first.
    this.#known.delete(key);
    this.#known.set(key, { at: now.getTime(), ruling, vmi: vmiKey(asked.cluster, asked.pod.namespace, ruling.vmi) });
    for (const [first, { at }] of this.#known) {
      if (this.#known.size <= MOST && isRecent(at, now)) break;
      this.#known.delete(first);
    }
  }

  find(asked: Asked, now: Date): Ruling | undefined {
    const found = this.#known.get(keyFor(asked));
    return found && isRecent(found.at, now) ? found.ruling : undefined;
  }

  /** Something has happened to this VMI: it may have left. */
  forget(cluster: string, { namespace, name }: NamespacedName): void {
    const changed = vmiKey(cluster, namespace, name);
    for (const [key, { vmi }] of this.#known) if (vmi === changed) this.#known.delete(key);
  }
}

function isRecent(at: number, now: Date): boolean {
  const age = now.getTime() - at;
  return age >= 0 && age < REMEMBERED_MS;
}

function vmiKey(cluster: string, namespace: string, name = ""): string {
  return `${cluster} ${namespace}/${name}`;
}

function keyFor({ cluster, pod, request }: Asked): string {
  return JSON.stringify([cluster, keyOf(pod), request.cause, request.username]);
}

/** Creates stores with the objects that watches of a fake cluster would deliver. */
import type { Store, Stores } from "../../shared/kube/cache.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { FakeApi } from "./cluster/api.ts";
import type { FakeCluster } from "./cluster.ts";

type Kind = keyof Stores;
type Snapshot = ReturnType<FakeApi["snapshot"]>;

interface Shelf<T> {
  get(key: NamespacedName): T | undefined;
  list(): readonly T[];
}

/** Returns stores. `stateOf` returns the snapshot that a store contains, or undefined for the current objects. */
export function storesOf(fake: FakeCluster, stateOf: (kind: Kind) => Snapshot | undefined, isCurrent = true): Stores {
  const store = <T>(kind: Kind, shelf: Shelf<T>): Store<T> => {
    const at = <R>(work: () => R) => fake.api.at(stateOf(kind) ?? fake.api.snapshot(), work);
    const [get, all] = [(key: NamespacedName) => at(() => shelf.get(key)), () => at(() => shelf.list())];
    return { isCurrent: () => isCurrent, get, all, note: () => undefined, isOdd: () => false, hasOddIn: () => false };
  };
  return {
    pods: store("pods", fake.pods),
    nodes: store("nodes", fake.nodes),
    poddisruptionbudgets: store("poddisruptionbudgets", fake.budgets),
    virtualmachineinstances: store("virtualmachineinstances", fake.vmis),
    virtualmachineinstancemigrations: store("virtualmachineinstancemigrations", fake.migrations),
    evacuations: store("evacuations", fake.evacuations),
  };
}

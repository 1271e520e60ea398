/** Fault: a Worker or a replica of Lifeboat dies between two writes, and a new one replaces it. */
import type { Fault } from "../fault.ts";

export const replicasDie: Fault = {
  says: "a Worker or a replica of Lifeboat dies between two writes, and a new one replaces it",
  weight: 6,
  inject({ replicas }, draw) {
    // In some runs each replica dies after its first write. In other runs it dies after a random number of writes.
    const isFirst = draw.chance(0.3);
    const times = draw.int(isFirst ? 5 : 1, isFirst ? 20 : 8);
    replicas.kill(Array.from({ length: times }, () => (isFirst ? 1 : draw.int(0, 12))));
  },
};

/** Creates a full node and a node with free memory for tests of preemption. A webhook reviews all deletions. */
import { beforeAll } from "vitest";
import { pods, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { createPod, createPriorityClass, type PlainPod } from "../../workloads.ts";
import { useSandbox, type World } from "../with-sandbox.ts";
import { type Gate, useGate } from "./gate.ts";

export const namespace = "default";
export const GRACE = 7;
export const MESSAGE = "default-scheduler: preempting to accommodate a higher priority pod";

export interface Stage {
  readonly world: World;
  readonly gate: Gate;
  /** Fills the node `full` with pods of equal size. The pods start in the given order. */
  occupy(...victims: readonly (readonly [name: string, priorityClassName: string])[]): Promise<void>;
  /** Creates a pod with a node selector for this node (`full` or `roomy`). */
  place(node: string, pod: Omit<PlainPod, "nodeSelector"> & { memory: string }): Promise<Pod>;
  get(name: string): Promise<Pod | undefined>;
  until(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
}

/** Creates both nodes before the tests. Call the methods of the returned object only in tests and hooks. */
export function useFullNode(): Stage {
  const world = useSandbox({ terminationSeconds: GRACE });
  const gate = useGate(world);

  beforeAll(async () => {
    const { client } = world.sandbox;
    await createNode(client, "full", { memory: "12Gi" });
    await createNode(client, "roomy");
    await Promise.all([
      createPriorityClass(client, "low", 10),
      createPriorityClass(client, "middle", 20),
      createPriorityClass(client, "high", 30),
      createPriorityClass(client, "polite", 30, { preemptionPolicy: "Never" }),
    ]);
  });

  const until: Stage["until"] = (name, condition) => world.until(pods, { namespace, name }, condition);
  const place: Stage["place"] = (node, { memory, ...pod }) => {
    const nodeSelector = { "kubernetes.io/hostname": node };
    return createPod(world.sandbox.client, { graceSeconds: GRACE, ...pod, nodeSelector, requests: { memory } });
  };
  return {
    world,
    get gate() {
      return gate();
    },
    async occupy(...victims) {
      const memory = `${12 / victims.length}Gi`;
      for (const [name, priorityClassName] of victims) {
        await place("full", { name, priorityClassName, memory });
        await until(name, isRunning);
        world.clock.advance(1_000);
      }
    },
    place,
    get: (name) => world.sandbox.client.get(pods, { namespace, name }),
    until,
  };
}

export function isRunning({ status }: Pod): boolean {
  return status?.phase === "Running";
}

/** Returns a predicate. It is true if the scheduler's message in the pod's status ends with this text. */
export function saying(text: string): (pod: Pod) => boolean {
  return ({ status }) => status?.conditions?.[0]?.message?.endsWith(text) ?? false;
}

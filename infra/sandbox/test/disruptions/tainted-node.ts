/** Creates a node that a test can taint, and a webhook that reviews deletions. */
import { afterEach, beforeAll } from "vitest";
import { events, nodes, pods, type Node, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { createPod } from "../../workloads.ts";
import { useSandbox, type World } from "../with-sandbox.ts";
import { type Gate, useGate } from "./gate.ts";

type Taints = NonNullable<NonNullable<Node["spec"]>["taints"]>;
type Tolerations = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>;

export const namespace = "default";
export const MAINTENANCE: Taints = [{ key: "maintenance", effect: "NoExecute" }];
export const FOR_A_MINUTE: Tolerations = [
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 },
];
const NODE = "tainted";

export interface Stage {
  readonly world: World;
  readonly gate: Gate;
  readonly taint: (taints: Taints) => Promise<unknown>;
  readonly run: (name: string, tolerations?: Tolerations) => Promise<Pod>;
  readonly get: (name: string) => Promise<Pod | undefined>;
  readonly tolerate: (name: string, more: Tolerations) => Promise<void>;
  readonly messagesAbout: (pod: Pod) => Promise<ReadonlySet<string | undefined>>;
  /** Waits until the sandbox has handled all pods that exist. */
  readonly settle: () => Promise<void>;
}

export const markedForDeletion = ({ metadata }: Pod): string => `Marking for deletion Pod default/${metadata.name}`;
export const cancelled = ({ metadata }: Pod): string => `Cancelling deletion of Pod default/${metadata.name}`;

/** Creates the node before the tests. Call the methods of the returned object only in tests and hooks. */
export function useTaintedNode(): Stage {
  const world = useSandbox({ terminationSeconds: 1 });
  const gate = useGate(world);
  let markers = 0;
  const taint: Stage["taint"] = (taints) =>
    world.sandbox.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
  const get: Stage["get"] = (name) => world.sandbox.client.get(pods, { namespace, name });
  const run: Stage["run"] = async (name, tolerations = []) => {
    await createPod(world.sandbox.client, { namespace, name, node: NODE, tolerations, graceSeconds: 17 });
    return world.until(pods, { namespace, name }, ({ status }) => status?.phase === "Running");
  };

  beforeAll(() => createNode(world.sandbox.client, NODE));
  afterEach(() => taint([]));

  return {
    world,
    get gate() {
      return gate();
    },
    taint,
    run,
    get,
    async tolerate(name, more) {
      const tolerations = [...((await get(name))?.spec?.tolerations ?? []), ...more];
      await world.sandbox.client.patch(pods, { namespace, name }, { type: "merge", body: { spec: { tolerations } } });
    },
    async messagesAbout({ metadata }) {
      const fieldSelector = `involvedObject.uid=${metadata.uid},reason=TaintManagerEviction`;
      const { items } = await world.sandbox.client.list(events, namespace, { fieldSelector });
      return new Set(items.map(({ message }) => message));
    },
    async settle() {
      await run(`marker-${++markers}`, [{ operator: "Exists" }]);
    },
  };
}

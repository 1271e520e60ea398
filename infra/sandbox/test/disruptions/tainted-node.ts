/** A node to be tainted, and a gate before deletions, for tests of the taint manager. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { events, nodes, pods, type Node, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { createPod } from "../../workloads.ts";
import { useSandbox, type World } from "../with-sandbox.ts";
import { startGate, type Gate } from "./gate.ts";

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
  /** Sets the node's taints. */
  readonly taint: (taints: Taints) => Promise<unknown>;
  /** Creates a pod on the node, and waits until it runs. */
  readonly run: (name: string, tolerations?: Tolerations) => Promise<Pod>;
  readonly get: (name: string) => Promise<Pod | undefined>;
  /** Adds tolerations to the pod. */
  readonly tolerate: (name: string, more: Tolerations) => Promise<void>;
  /** The taint manager's events about the pod. */
  readonly messagesAbout: (pod: Pod) => Promise<ReadonlySet<string | undefined>>;
  /** Waits until the sandbox has reacted to every earlier pod. */
  readonly settle: () => Promise<void>;
}

export const begun = ({ metadata }: Pod): string => `Marking for deletion Pod default/${metadata.name}`;
export const cancelled = ({ metadata }: Pod): string => `Cancelling deletion of Pod default/${metadata.name}`;

/** Only valid inside tests and hooks. */
export function useTaintedNode(): Stage {
  const world = useSandbox({ terminationSeconds: 1 });
  let gate: Gate | undefined;
  let markers = 0;
  const started = () => {
    if (gate === undefined) throw new Error("the gate is not there yet");
    return gate;
  };
  const taint: Stage["taint"] = (taints) =>
    world.sandbox.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
  const get: Stage["get"] = (name) => world.sandbox.client.get(pods, { namespace, name });
  const run: Stage["run"] = async (name, tolerations = []) => {
    await createPod(world.sandbox.client, { namespace, name, node: NODE, tolerations, graceSeconds: 17 });
    return world.until(pods, { namespace, name }, ({ status }) => status?.phase === "Running");
  };

  beforeAll(async () => {
    await createNode(world.sandbox.client, NODE);
    gate = await startGate(world);
  });
  afterAll(() => gate?.stop());

  /** Deletes everything of the last test. */
  afterEach(async () => {
    const { client } = world.sandbox;
    started().answer("allow");
    started().release("allow");
    await taint([]);
    const names = () => client.list(pods, namespace).then(({ items }) => items.map(({ metadata }) => metadata.name));
    for (const name of await names()) await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
    await world.pass(async () => (await names()).length === 0 && started().postponed() === 0);
    started().forget();
  });

  return {
    world,
    get gate() {
      return started();
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

/**
 * The taint manager, as observed on Kubernetes 1.36: whom it deletes and when, and how soon it gives up.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { events, nodes, pods, type Node, type Pod } from "../../../infra/sandbox/actors/resources.ts";
import { toleratedFor } from "../../../infra/sandbox/actors/tolerations.ts";
import { createNode } from "../../../infra/sandbox/fleet.ts";
import { createPod } from "../../../infra/sandbox/workloads.ts";
import { useSandbox } from "../with-sandbox.ts";
import { disruptionTarget, startGate, type Gate } from "./gate.ts";

type Taints = NonNullable<NonNullable<Node["spec"]>["taints"]>;
type Tolerations = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>;

const namespace = "default";
const NODE = "tainted";
const MAINTENANCE: Taints = [{ key: "maintenance", effect: "NoExecute" }];
const FOR_A_MINUTE: Tolerations = [{ key: "maintenance", operator: "Exists", tolerationSeconds: 60 }];
const FOR_EVER: Tolerations = [{ key: "maintenance", operator: "Exists" }];
const USER = "system:serviceaccount:kube-system:node-controller";

const world = useSandbox({ terminationSeconds: 1 });
let gate: Gate;
let markers = 0;

beforeAll(async () => {
  await createNode(world.sandbox.client, NODE);
  gate = await startGate(world);
});
afterAll(() => gate.stop());

afterEach(async () => {
  const { client } = world.sandbox;
  gate.answer("allow");
  gate.release("allow");
  await taint([]);
  const names = () => client.list(pods, namespace).then(({ items }) => items.map(({ metadata }) => metadata.name));
  for (const name of await names()) await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await world.pass(async () => (await names()).length === 0);
  gate.forget();
});

const taint = (taints: Taints) =>
  world.sandbox.client.patch(nodes, { name: NODE }, { type: "merge", body: { spec: { taints } } });
const get = (name: string) => world.sandbox.client.get(pods, { namespace, name });

async function run(name: string, tolerations: Tolerations = []): Promise<Pod> {
  await createPod(world.sandbox.client, { namespace, name, node: NODE, tolerations, graceSeconds: 17 });
  return world.until(pods, { namespace, name }, ({ status }) => status?.phase === "Running");
}

async function messagesAbout(name: string): Promise<readonly (string | undefined)[]> {
  const fieldSelector = `involvedObject.name=${name},reason=TaintManagerEviction`;
  return (await world.sandbox.client.list(events, namespace, { fieldSelector })).items.map(({ message }) => message);
}

/** Everything the sandbox does about a pod that came before this one is done. */
async function settle(): Promise<void> {
  await run(`marker-${++markers}`, [{ operator: "Exists" }]);
}

describe("how long a pod may stay", () => {
  const a: Taints = [{ key: "a", value: "x", effect: "NoExecute" }];
  const both: Taints = [...a, { key: "b", effect: "NoExecute" }];

  // prettier-ignore
  const rows: readonly (readonly [what: string, tolerations: Tolerations, taints: Taints, seconds: number])[] = [
    ["no taint",                                   [],                                                          [],   Infinity],
    ["no toleration",                              [],                                                          a,    0       ],
    ["the key exists",                             [{ key: "a", operator: "Exists" }],                          a,    Infinity],
    ["the value is equal",                         [{ key: "a", value: "x" }],                                  a,    Infinity],
    ["the value is another",                       [{ key: "a", value: "y" }],                                  a,    0       ],
    ["another effect",                             [{ key: "a", operator: "Exists", effect: "NoSchedule" }],    a,    0       ],
    ["for some time",                              [{ key: "a", operator: "Exists", tolerationSeconds: 60 }],   a,    60      ],
    ["for no time, or less",                       [{ key: "a", operator: "Exists", tolerationSeconds: -1 }],   a,    0       ],
    ["one of two taints",                          [{ key: "a", operator: "Exists" }],                          both, 0       ],
    ["the shortest time of all taints",            [{ key: "a", operator: "Exists", tolerationSeconds: 60 }, { key: "b", operator: "Exists", tolerationSeconds: 30 }], both, 30],
    ["the first toleration that fits is the one",  [{ key: "a", operator: "Exists", tolerationSeconds: 60 }, { operator: "Exists" }],                                   a,    60],
    ["everything",                                 [{ operator: "Exists" }],                                    both, Infinity],
  ];
  test.each(rows)("%s", (_, tolerations, taints, seconds) => {
    const metadata = { name: "pod", uid: "1", resourceVersion: "1", creationTimestamp: "" };
    expect(toleratedFor({ metadata, spec: { containers: [], tolerations } }, taints)).toBe(seconds);
  });
});

const added = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });

describe("a NoExecute taint", () => {
  test("deletes who does not tolerate it, and says so before", async () => {
    await run("victim");
    await run("daemon", FOR_EVER);
    gate.answer("hold");
    await taint(MAINTENANCE);
    await expect.poll(() => gate.held()).toBe(1);
    const [asked] = gate.asked();
    expect(asked).toMatchObject({ user: USER, name: "victim", object: null, options: { gracePeriodSeconds: 17 } });
    expect(disruptionTarget(asked?.oldObject)).toMatchObject({
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
    });
    expect(await messagesAbout("victim")).toEqual(["Marking for deletion Pod default/victim"]);
    gate.release("allow");
    await world.pass(async () => (await get("victim")) === undefined);
    expect((await get("daemon"))?.status?.phase).toBe("Running");
    expect(gate.asked()).toHaveLength(1);
  });

  test("that is tolerated for a minute deletes after a minute", async () => {
    await run("patient", FOR_A_MINUTE);
    await taint(MAINTENANCE);
    await settle();
    world.clock.advance(59_000);
    await settle();
    expect(gate.asked("patient")).toEqual([]);
    world.clock.advance(1_000);
    await expect.poll(() => gate.asked("patient").length).toBe(1);
  });

  test("that is taken back in time deletes nobody", async () => {
    await run("lucky", FOR_A_MINUTE);
    await taint(MAINTENANCE);
    await settle();
    await taint([]);
    await expect.poll(() => messagesAbout("lucky")).toEqual(["Cancelling deletion of Pod default/lucky"]);
    world.clock.advance(120_000);
    await settle();
    expect(gate.asked("lucky")).toEqual([]);
  });

  test("moves no transition time of a condition that is True already", async () => {
    await run("victim");
    const since = new Date(world.clock.now().getTime() - 30_000).toISOString().replace(".000Z", "Z");
    const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", message: "" };
    const body = { status: { conditions: [{ ...condition, lastTransitionTime: since }] } };
    const key = { namespace, name: "victim" };
    await world.sandbox.client.patch(pods, key, { type: "strategic", body }, { subresource: "status" });
    gate.answer("hold");
    await taint(MAINTENANCE);
    await expect.poll(() => gate.held()).toBe(1);
    const reviewed = disruptionTarget(gate.asked("victim")[0]?.oldObject);
    expect(reviewed).toMatchObject({ reason: "DeletionByTaintManager", lastTransitionTime: since });
  });

  test("of the API server's own is tolerated for five minutes by every pod", async () => {
    const { spec } = await run("ordinary");
    expect(spec?.tolerations).toEqual([added("node.kubernetes.io/not-ready"), added("node.kubernetes.io/unreachable")]);
    const own = { key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 5 };
    expect((await run("impatient", [own])).spec?.tolerations).toEqual([own, added("node.kubernetes.io/not-ready")]);
  });
});

/** The time between two attempts begins when the answer to the first has arrived, so it passes in small steps. */
const untilAsked = (count: number) =>
  expect
    .poll(
      () => {
        const asked = gate.asked("victim").length;
        if (asked < count) world.clock.advance(1);
        return asked;
      },
      { interval: 10, timeout: 10_000 },
    )
    .toBe(count);

/** Denied so many times in all, and never again. */
async function exhaust(expected: number): Promise<void> {
  await untilAsked(expected);
  await settle();
  world.clock.advance(600_000);
  await settle();
  expect(gate.asked("victim")).toHaveLength(expected);
}

describe("a refused deletion", () => {
  test("is tried five times within 100 ms, then never again, until tolerations or taints change", async () => {
    const key = { namespace, name: "victim" };
    const patch = (body: object) => world.sandbox.client.patch(pods, key, { type: "merge", body });
    await run("victim");
    gate.answer("deny");
    await taint(MAINTENANCE);
    await exhaust(5);
    const [first, last] = [gate.asked("victim")[0], gate.asked("victim")[4]];
    expect((last?.at.getTime() ?? Infinity) - (first?.at.getTime() ?? 0)).toBeLessThanOrEqual(100);

    await patch({ metadata: { annotations: { touched: "yes" } } });
    await exhaust(5);
    await patch({ spec: { tolerations: [...((await get("victim"))?.spec?.tolerations ?? []), { key: "other" }] } });
    await exhaust(10);
    await taint([...MAINTENANCE, { key: "more", effect: "NoExecute" }]);
    await exhaust(15);
    expect((await get("victim"))?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("held every time, is waited for every time", async () => {
    await run("victim");
    gate.answer("hold");
    await taint(MAINTENANCE);
    for (const attempt of [1, 2, 3, 4, 5]) {
      await untilAsked(attempt);
      world.clock.advance(8_000);
      await settle();
      expect(gate.held()).toBe(1);
      gate.release("deny");
      await expect.poll(() => gate.held()).toBe(0);
    }
    await settle();
    world.clock.advance(600_000);
    await settle();
    expect(gate.asked("victim")).toHaveLength(5);
  });
});

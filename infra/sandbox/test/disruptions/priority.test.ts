/** Tests how the Priority admission plugin sets the priority of pods. */
import { beforeAll, describe, expect, test } from "vitest";
import { pods, type Pod } from "../../actors/resources.ts";
import { StatusError } from "../../actors/status-error.ts";
import { createPriorityClass } from "../../workloads.ts";
import { useSandbox } from "../with-sandbox.ts";

const world = useSandbox({ empty: true });

const containers = [{ name: "main", image: "example" }];
const create = (spec: Partial<Pod["spec"]>) =>
  world.sandbox.client.create(pods, {
    metadata: { namespace: "default", generateName: "pod-" },
    spec: { containers, ...spec },
  });

async function refusalOf(creation: Promise<unknown>): Promise<string> {
  const error: unknown = await creation.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StatusError)) throw new Error("it was not refused", { cause: error });
  return `${error.code} ${error.status.message}`;
}

beforeAll(async () => {
  await createPriorityClass(world.sandbox.client, "high", 1_000);
  await createPriorityClass(world.sandbox.client, "polite", 1_000, { preemptionPolicy: "Never" });
});

describe("the Priority plugin", () => {
  // prettier-ignore
  const rows: readonly (readonly [spec: Partial<Pod["spec"]>, priority: number, preemptionPolicy: string])[] = [
    [{},                                                         0, "PreemptLowerPriority"],
    [{ priorityClassName: "high" },                          1_000, "PreemptLowerPriority"],
    [{ priorityClassName: "high", priority: 1_000 },         1_000, "PreemptLowerPriority"],
    [{ priorityClassName: "polite" },                        1_000, "Never"],
    [{ priorityClassName: "system-cluster-critical" },   2e9,       "PreemptLowerPriority"],
    [{ priorityClassName: "system-node-critical" },      2_000_001_000, "PreemptLowerPriority"],
  ];
  test.each(rows)("gives %j its priority", async (spec, priority, preemptionPolicy) => {
    expect((await create(spec)).spec).toMatchObject({ ...spec, priority, preemptionPolicy });
  });

  const computed = "must not be provided in pod spec; priority admission controller computed";
  // prettier-ignore
  const refused: readonly (readonly [spec: Partial<Pod["spec"]>, why: string])[] = [
    [{ priorityClassName: "missing" }, "no PriorityClass with name missing was found"],
    [{ priority: 5 },                  `the integer value of priority (5) ${computed} 0 from the given PriorityClass name`],
    [{ preemptionPolicy: "Never" },    `the string value of PreemptionPolicy (Never) ${computed} PreemptLowerPriority from the given PriorityClass name`],
  ];
  test.each(refused)("refuses %j", async (spec, why) => {
    expect(await refusalOf(create(spec))).toBe(`403 pods "pod-" is forbidden: ${why}`);
  });
});

test("gives a pod without a class the global default class, and refuses a second default class", async () => {
  await createPriorityClass(world.sandbox.client, "usual", 10, { globalDefault: true });
  expect((await create({})).spec).toMatchObject({ priorityClassName: "usual", priority: 10 });
  const second = createPriorityClass(world.sandbox.client, "other", 20, { globalDefault: true });
  const why = "PriorityClass usual is already marked as default. Only one default can exist";
  expect(await refusalOf(second)).toBe(`403 priorityclasses.scheduling.k8s.io "other" is forbidden: ${why}`);
});

/** A budget is made small only if its VMI is still as it was seen. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../shared/cluster/cluster.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";

let world: TestCluster;
beforeAll(async () => {
  world = await startTestCluster();
});
afterAll(() => world.stop());

const SETTINGS = { kubevirtNamespace: "kubevirt", marking: "Impersonate" } as const;

test.each([
  ["unchanged", false, "Done", 1],
  ["touched since", true, "Conflict", 2],
] as const)("%s", async (name, isTouched, result, size) => {
  const { server, token } = world.entry;
  const cluster = connect({
    endpoint: { server, token, headers: {}, fetch: (url, init) => fetch(url, init) },
    signal: AbortSignal.timeout(60_000),
    onOddItem: () => undefined,
    now: () => new Date(),
    sleep: () => Promise.resolve(),
  });
  const key = name.replace(" ", "-");
  await world.createVm({ name: key, strategy: "LiveMigrate" });
  const vmi = await cluster.getVmi({ namespace: NAMESPACE, name: key });
  if (vmi === undefined) throw new Error("no VMI");
  await cluster.act({ verb: "CreateBudget", vmi, name: key, minAvailable: 2 }, SETTINGS);
  const find = async () => (await cluster.listBudgets(NAMESPACE)).find((one) => one.name === key);
  const budget = await find();
  if (budget === undefined) throw new Error("no budget");
  if (isTouched) await world.patchVmi(key, { metadata: { annotations: { touched: "yes" } } });
  expect(await cluster.act({ verb: "ResizeBudget", budget, minAvailable: 1, vmi }, SETTINGS)).toBe(result);
  expect((await find())?.minAvailable).toBe(size);
});

/** Tests NodeEvacuations while virt-api is down and while migrations fail. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { configureLifeboat } from "../../infra/lab/stage/apply.ts";
import { evacuations, nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import { createNode, createVirtualMachine, isReal, isSimulated, SUBRESOURCES } from "../../infra/sandbox/index.ts";
import { PINNED, useMaintenance, vm } from "./maintenance-stage.ts";
import { NAMESPACE, WEBHOOK_CONFIGURATIONS } from "./stage.ts";
import { evacuationsOf, getVmi } from "./vm.ts";

const on = useMaintenance();

const Configuration = z.object({ webhooks: z.array(z.object({ clientConfig: z.object({ url: z.string() }) })) });

async function killVirtApi(): Promise<() => Promise<unknown>> {
  const { sandbox, client } = on.stage;
  if (isReal(sandbox)) {
    const { programs } = sandbox;
    await programs.kill("virt-api");
    return () => programs.start("virt-api");
  }
  if (!isSimulated(sandbox)) throw new Error("unknown sandbox");
  const { apiServer, caPem } = sandbox;
  const found = Configuration.parse(await client.get(WEBHOOK_CONFIGURATIONS, { name: "virt-api-validator" }));
  const url = new URL(found.webhooks[0]?.clientConfig.url ?? "").origin;
  apiServer.aggregate(SUBRESOURCES, { url: "https://127.0.0.1:1", caPem });
  return async () => apiServer.aggregate(SUBRESOURCES, { url, caPem });
}

const patch = (status: object) => ({ type: "merge", body: { status } }) as const;

async function letAMinutePass(node: string): Promise<void> {
  const { client } = on.stage;
  const ago = new Date(Date.now() - 61_000).toISOString();
  const found = await client.get(nodeEvacuations, { name: node });
  const blockers = (found?.status?.blockers ?? []).map((blocker) => ({ ...blocker, since: ago }));
  await client.patch(nodeEvacuations, { name: node }, patch({ blockers }), { subresource: "status" });
  for (const { metadata, status } of (await client.list(evacuations, NAMESPACE)).items) {
    if (status?.phase !== "Restarting" && status?.phase !== "Stopping") continue;
    await client.patch(evacuations, metadata, patch({ nextAttemptTime: ago }), { subresource: "status" });
  }
  await on.stage.tick();
}

const isThere = (name: string) =>
  getVmi(on.stage.client, name).then(
    ({ status }) => status?.phase === "Running",
    () => false,
  );

const phaseOf = async (name: string) => (await evacuationsOf(on.stage.client, name)).at(-1)?.status?.phase;

test("when virt-api is away for a requested restart, the VM restarts once, after virt-api is back", async () => {
  const node = "restarts";
  await createNode(on.stage.client, node);
  await createVirtualMachine(on.stage.client, "Always", vm("ledger", node, PINNED));
  const { uid } = (await getVmi(on.stage.client, "ledger")).metadata;
  await on.empty(node, { virtualMachines: { whenBlocked: "Restart" } });
  await on.until(node, "Evacuating", ({ status }) => status?.blockers?.length === 1);
  const revive = await killVirtApi();
  await letAMinutePass(node);
  await expect.poll(() => phaseOf("ledger")).toBe("Restarting");
  await letAMinutePass(node);
  expect((await getVmi(on.stage.client, "ledger")).metadata.uid).toBe(uid);
  await revive();
  await letAMinutePass(node);
  await on.until(node, "Evacuated");
  const after = await getVmi(on.stage.client, "ledger");
  expect([after.metadata.uid === uid, after.status?.nodeName === node]).toEqual([false, false]);
  await letAMinutePass(node);
  expect((await getVmi(on.stage.client, "ledger")).metadata.uid).toBe(after.metadata.uid);
  expect((await evacuationsOf(on.stage.client, "ledger")).map(({ status }) => status?.phase)).toEqual(["Restarted"]);
});

test("when virt-api is away, a stopped VM starts after virt-api is back, and only then Returned is True", async () => {
  const node = "starts";
  await createNode(on.stage.client, node);
  await createVirtualMachine(on.stage.client, "Always", vm("batch", node, PINNED));
  await on.empty(node, { virtualMachines: { whenBlocked: "ShutDown" } });
  await on.until(node, "Evacuating", ({ status }) => status?.blockers?.length === 1);
  await letAMinutePass(node);
  await on.until(node, "Evacuated");
  const revive = await killVirtApi();
  await on.setCordon(node, false);
  const returned = async () => {
    const found = await on.stage.client.get(nodeEvacuations, { name: node });
    return found?.status?.conditions?.find(({ type }) => type === "Returned")?.status;
  };
  await expect.poll(returned).toBe("False");
  await on.stage.tick();
  expect([await returned(), await isThere("batch")]).toEqual(["False", false]);
  await revive();
  await on.stage.tick();
  await expect.poll(() => isThere("batch")).toBe(true);
  await on.stage.tick();
  await expect.poll(returned).toBe("True");
});

test(
  "when migrations fail, whenAttemptsFail restarts two VMs one after the other, and the third stays",
  { tags: ["backoff"] },
  async () => {
    const node = "fails";
    await createNode(on.stage.client, node);
    // During the back-off, the third VM stays Blocked. With a short back-off, its next migration can start before a tick.
    const evacuation = { maxAttempts: 1, backoffSeconds: 600, maxBackoffSeconds: 600 };
    await configureLifeboat(on.stage.client, { evacuation });
    await on.stage.reconcile();
    on.stage.sandbox.migrations.configure({
      outcome: ({ name }) => (name.startsWith("fails-") ? "Failed" : "Succeeded"),
    });
    if (isSimulated(on.stage.sandbox)) on.stage.sandbox.migrations.configure({ backoffSeconds: 0 });
    const names = ["fails-0", "fails-1", "fails-2"];
    const uids = new Map<string, string>();
    for (const name of names) {
      await createVirtualMachine(on.stage.client, "Always", vm(name, node));
      uids.set(name, (await getVmi(on.stage.client, name)).metadata.uid);
    }
    await on.empty(node, { virtualMachines: { whenAttemptsFail: "Restart" } });
    await on.until(node, "Evacuating", ({ status }) => {
      const reasons = (status?.blockers ?? []).map(({ reason }) => reason);
      return reasons.length === names.length && reasons.every((reason) => reason === "Abandoned");
    });
    const restarted = async () => {
      const now = await Promise.all(names.map((name) => getVmi(on.stage.client, name)));
      return now.filter(({ metadata }) => uids.get(metadata.name) !== metadata.uid).length;
    };
    const restartedAMinuteLater = async () => {
      await letAMinutePass(node);
      return await restarted();
    };
    // Polls, because the wait of one minute starts again if the reason of a blocker changes.
    await expect.poll(restartedAMinuteLater).toBe(2);
    expect(await restartedAMinuteLater()).toBe(2);
    const statusAMinuteLater = async () => {
      await letAMinutePass(node);
      return (await on.stage.client.get(nodeEvacuations, { name: node }))?.status;
    };
    // The last restart can end after the tick. In that case, only the next tick finds that a person has to act.
    await expect.poll(statusAMinuteLater).toMatchObject({
      phase: "Blocked",
      blockers: [{ reason: "Abandoned" }],
      virtualMachines: { left: 1, restarted: 2 },
    });
    expect(await restarted()).toBe(2);
    const [first, second] = (await Promise.all(names.map((name) => evacuationsOf(on.stage.client, name))))
      .flat()
      .filter(({ spec, status: is }) => spec.by === "Restart" && is?.phase === "Restarted")
      .map(({ metadata, status: is }) => [metadata.creationTimestamp, is?.completionTime] as const)
      .toSorted(([, a = ""], [, b = ""]) => (a < b ? -1 : 1));
    // Creation times have whole seconds, so the comparison ignores the fraction of the completion time.
    expect(Date.parse(second?.[0] ?? "")).toBeGreaterThanOrEqual(Date.parse(`${first?.[1]?.slice(0, 19)}Z`));
    on.stage.sandbox.migrations.configure({ outcome: () => "Succeeded" });
  },
);

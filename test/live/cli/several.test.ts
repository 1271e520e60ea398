/**
 * Tests `lifeboat drain` of several nodes, and `status`, `pause`, `resume`, `cancel` and `report` of the whole
 * maintenance.
 */
import { expect, test } from "vitest";
import { rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { useDrains } from "./drain-stage.ts";

const on = useDrains();

test("a drain of several nodes follows one RollingMaintenance until each is empty, and the report has every VM", async () => {
  const [a, b] = [await on.freshNode(), await on.freshNode()];
  const [vmA, vmB] = [await on.vmOn(a), await on.vmOn(b)];
  const meanwhile = async () => {
    for (const node of [a, b]) {
      const [one] = await on.maintenanceOf(node);
      if (one?.status?.phase === "Evacuated") await on.uncordon(node);
    }
  };
  const { code, out, err } = await on.lifeboat(`drain ${a} ${b} -y`, { meanwhile });
  expect([code, err.filter((line) => line.endsWith("created")).length]).toEqual([0, 1]);
  const [, name = ""] = /rollingmaintenance\.lifeboat\.dev\/(\S+) created/.exec(err.join("\n")) ?? [];
  expect(out.join("\n")).toContain(`lifeboat report rollm/${name}`);
  const json = await on.lifeboat(`report rollm/${name} -o json`);
  expect(json.code).toBe(0);
  expect(JSON.parse(json.out.join("\n"))).toMatchObject({
    reports: [
      {
        name,
        phase: "Completed",
        nodes: [
          { node: a, virtualMachines: [{ name: vmA, outcome: "Moved" }] },
          { node: b, virtualMachines: [{ name: vmB, outcome: "Moved" }] },
        ],
      },
    ],
  });
  const table = await on.lifeboat(`report rollm/${name}`);
  expect(table.out.join("\n")).toMatch(new RegExp(`${a} +vms +${vmA} +Moved`));
  const markdown = await on.lifeboat(`report rollm/${name} -o markdown`);
  expect(markdown.out).toContain("| NODE | NAMESPACE | VM | OUTCOME | REASON | TO | BEGAN | ENDED |");
  const ofNode = await on.lifeboat(`report ${a} -o json`);
  expect(JSON.parse(ofNode.out.join("\n"))).toMatchObject({ reports: [{ nodes: [{ node: a }] }] });
});

test("a node that blocks makes drain and status exit with 3; cancel uncordons the node, and no other node starts", async () => {
  const pool = { pool: "several" };
  const [a, b] = [await on.freshNode(pool), await on.freshNode(pool)];
  const pinned = await on.pinnedOn(a);
  expect((await on.lifeboat(`drain -l pool=several --when-node-fails Continue -y`)).code).toBe(3);
  const { items } = await on.stage.client.list(rollingMaintenances);
  const whole = items.find(({ spec }) => JSON.stringify(spec.nodes).includes(a))?.metadata.name ?? "";
  expect(items.find(({ metadata }) => metadata.name === whole)?.spec["whenNodeFails"]).toBe("Continue");
  const status = await on.lifeboat("status");
  expect(status.code).toBe(3);
  expect(status.out.join("\n")).toMatch(new RegExp(`rollm/${whole} +Blocked +0/2 nodes`));
  expect(status.out.join("\n")).toContain(`vms/${pinned}, for`);
  expect((await on.lifeboat(`pause -y rollm/${whole}`)).out).toEqual([
    `rollingmaintenance.lifeboat.dev/${whole} paused`,
  ]);
  expect((await on.lifeboat(`resume -y rollm/${whole} ${a}`)).code).toBe(0);
  expect((await on.lifeboat(`pause -y ${b}`)).err).toEqual([expect.stringContaining(`rollm/${whole}`)]);
  const joined = await on.lifeboat(`drain ${b} ${a} -y`);
  expect([joined.code, joined.err[0]]).toEqual([
    3,
    `rollingmaintenance.lifeboat.dev/${whole} exists already, and this command follows it`,
  ]);
  const other = await on.lifeboat(`drain ${b} ${a} -y --start-if WillSucceed --next-node WhenEvacuated`);
  expect([other.code, other.err.join("\n")]).toEqual([
    1,
    expect.stringContaining(
      "its options differ from yours: --start-if Always, --next-node WhenUncordoned. Cancel it first",
    ),
  ]);
  const cancelled = await on.lifeboat(`cancel -y rollm/${whole}`);
  expect([cancelled.code, cancelled.out]).toEqual([0, [`rollingmaintenance.lifeboat.dev/${whole} cancelled`]]);
  expect([await on.isCordoned(a), await on.isCordoned(b), await on.nodeOf(pinned)]).toEqual([false, false, a]);
  const report = await on.lifeboat(`report rollm/${whole} -o json`);
  expect(report.code).toBe(3);
  expect(JSON.parse(report.out.join("\n"))).toMatchObject({
    reports: [
      {
        nodes: [
          { phase: "Withdrawn", virtualMachines: [{ name: pinned, outcome: "LeftBehind", reason: "NotMigratable" }] },
          { phase: "Skipped" },
        ],
      },
    ],
  });
  expect((await on.lifeboat("status")).out).toEqual(["no maintenance is scheduled or in progress"]);
});

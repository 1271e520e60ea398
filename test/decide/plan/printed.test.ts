/** Tests the printed plan. Each line has at most 80 columns. If a plan does not finish, it shows no end time. */
import { expect, test } from "vitest";
import { rollingMaintenanceOf } from "../../../infra/cli/plan/data.ts";
import { printPlan } from "../../../infra/cli/plan/table.ts";
import { wrapping } from "../../../infra/cli/wrap.ts";
import { quietHost } from "../../../infra/lab/stage/host.ts";
import type { PlanFacts, PlanOptions } from "../../../shared/plan/facts.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { migration, NOW } from "../../support/fixtures.ts";
import { cluster, options, vm } from "../../support/plan/clusters.ts";

/** Returns the lines of a printed plan. `columns` is the width of the terminal, or 0 without a terminal. */
function printed(f: PlanFacts, tweak: Partial<PlanOptions> = {}, wide = false, columns = 0): readonly string[] {
  const said: string[] = [];
  const host = quietHost((text) => said.push(text));
  const stdout = { ...host.stdout, isTTY: columns > 0, columns };
  printPlan(planOf(f, options(f, tweak)), wide, wrapping({ ...host, stdout, env: { NO_COLOR: "1" } }));
  return said.join("").split("\n");
}

const pinned = { liveMigratable: { migratable: false, reason: "DisksNotLiveMigratable" } };
const ending = vm("ending", 2, { vmi: { evictionStrategy: "None" } });

test("a plan with a blocked node names no end, and its guests do not end", () => {
  const f = cluster({ node01: [vm("pinned", 2, { vmi: pinned }), ending], node02: [] });
  const lines = printed(f, { nodes: ["node01"] });
  expect(lines[0]).toBe(
    "1 node, 2 VMs: the plan does not end, because of node01; 0 migrations, 0 restarts, 0 shutdowns",
  );
  expect(lines).toContain("‼ node01: 1 guest keeps running while something else blocks the node");
  expect(lines.at(-2)).toBe("proven 0 · unproven 0 · failing 0");
  expect(planOf(f, options(f)).nodes[0]).toMatchObject({ shutdowns: 0, waiting: 1 });
});

test("a plan counts the shutdown of a guest on a node that nothing else blocks", () => {
  const f = cluster({ node01: [ending], node02: [] });
  const lines = printed(f, { nodes: ["node01"] });
  expect(lines[0]).toMatch(/^1 node, 1 VM: the plan ends between .*; 0 migrations, 0 restarts, 1 shutdown$/);
});

test("after a guest has ended, the plan does not promise for later nodes that no guest is shut down", () => {
  const f = cluster({ node01: [ending], node02: [vm("a")], node03: [vm("b")] });
  const { nodes } = planOf(f, options(f, { nodes: ["node01", "node02"] }));
  expect(nodes.map(({ verdict }) => verdict)).toEqual(["WillSucceedWithShutdowns", "WillSucceedWithShutdowns"]);
});

test("only lines about work for a person start with a cross, and the verdict counts unproven VMs", () => {
  const f = cluster({ node01: [vm("pinned", 2, { vmi: pinned }), vm("a"), ending], node02: [] });
  const lines = printed(f, { nodes: ["node01"] });
  expect(lines.filter((line) => line.startsWith("×"))).toEqual([expect.stringContaining("VM apps/pinned")]);
  expect(lines.find((line) => line.includes("WillBlock"))).toMatch(/WillBlock \?1$/);
});

test("on a terminal of 80 columns every line fits, and a command to copy stays in one line", () => {
  const [name, vmName] = [`worker-${"x".repeat(20)}`, `web-${"y".repeat(40)}`];
  const residents = [vm("pinned", 2, { vmi: pinned }), vm(vmName), vm("large", 15), ending];
  const f = cluster({ [name]: residents, node02: [vm("b")] }, { unread: [`whether ${"something ".repeat(12)}is so`] });
  const lines = printed(f, { until: NOW, bandwidth: 2 ** 30 }, false, 80);
  const command = `    find out with one migration: lifeboat evacuate ${vmName} -n apps`;
  const large = cluster({ [name]: [vm(vmName)], node02: [] });
  expect(printed(large, {}, false, 80)).toContain(command);
  expect(lines.filter((line) => line.length > 80 && line !== command)).toEqual([]);
});

test("the lines about the whole plan fit 80 columns in a file, too", () => {
  const migrations = Array.from({ length: 1000 }, (_, at) => ({
    ...migration({ name: `m${at}`, uid: `m${at}`, vmiName: "a", phase: "Succeeded" }),
    tookSeconds: 20,
    createdAt: at,
  }));
  for (const f of [
    cluster({ node01: [vm("a")], node02: [] }),
    cluster({ node01: [vm("a")], node02: [] }, { migrations }),
  ])
    for (const line of printed(f).slice(1, 3)) expect(line.length).toBeLessThanOrEqual(80);
});

test("the table fits 80 columns with any node names, and -o wide shows every VM", () => {
  const name = `worker-${"x".repeat(60)}`;
  const f = cluster({ [name]: [ending, vm("a"), vm("b")], node02: [] });
  const lines = printed(f, { nodes: [name, "node02"] });
  expect(Math.max(...lines.slice(3, 6).map(({ length }) => length))).toBeLessThanOrEqual(80);
  const wide = printed(f, { nodes: [name, "node02"] }, true).join("\n");
  for (const vmName of ["ending", "a", "b"]) expect(wide).toMatch(new RegExp(`${name} +apps +${vmName} `));
});

test.each([
  ["hours", 2 ** 20, { nodeTimeoutSeconds: expect.any(Number) }],
  ["minutes", 2 ** 30, {}],
])("the printed RollingMaintenance gives a node that takes %s enough time", (_, bandwidth, timeout) => {
  const f = cluster({ node01: [vm("large", 12)], node02: [] });
  const asked = options(f, { nodes: ["node01"], bandwidth });
  const made = planOf(f, asked);
  const [node01] = made.nodes;
  expect(node01?.verdict).toBe("WillSucceed");
  const { nodeTimeoutSeconds, ...rest } = rollingMaintenanceOf(made, asked, false).spec;
  expect({ ...(nodeTimeoutSeconds !== undefined && { nodeTimeoutSeconds }) }).toEqual(timeout);
  expect(nodeTimeoutSeconds ?? 3600).toBeGreaterThan(node01?.ends.most ?? 0);
  expect(rest.maxUnavailable).toBe(1);
});

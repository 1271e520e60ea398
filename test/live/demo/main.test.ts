/**
 * Runs a scenario of `npm start` to its end. The nightly run includes all scenarios. `.ci/run` runs the maintenance
 * scenario with a Worker.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../../../infra/lab/demo/main.ts", import.meta.url));

async function start(...args: readonly string[]) {
  const env = { ...process.env, PATH: "/nonexistent" };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, lines: stdout.split("\n"), stderr };
}

const LONG = { timeout: 300_000 };
const AT_NIGHT = { ...LONG, tags: ["nightly"] };

test("the maintenance scenario, with Lifeboat as two pods of its cluster, loses no VM", AT_NIGHT, async () => {
  const { code, lines, stderr } = await start("--in-cluster");
  expect(stderr).toBe("");
  expect(lines.some((line) => line.includes("node-1-kernel: Evacuated: the node is empty"))).toBe(true);
  expect(lines.at(-3)).toBe("Without Lifeboat: VMs moved 3, VMs stayed 2 (shop/gpu, shop/ledger), VMs lost 0");
  expect(lines.at(-2)).toMatch(/^With Lifeboat: VMs moved 3, VMs restarted 2, VMs lost 0$/);
  expect(code).toBe(0);
});

test(
  "the plan scenario predicts where kubectl drain fails, and the planned order drains each node",
  AT_NIGHT,
  async () => {
    const { code, lines, stderr } = await start("plan");
    expect(stderr).toBe("");
    expect(lines).toContainEqual(expect.stringMatching(/^× node-1: .*; --order planned drains node-1 after node-2$/));
    expect(lines).toContainEqual(expect.stringMatching(/^‼ 1 VM \(.*\): the last migration failed; shop\/legacy: /));
    for (const node of ["node-1", "node-6"])
      expect(lines).toContainEqual(
        expect.stringMatching(new RegExp(`^.{8} without +error: unable to drain node "${node}"`)),
      );
    expect(lines).toContainEqual(
      expect.stringMatching(/^node-6 is not drained: Unknown, whether VM shop\/legacy moves/),
    );
    expect(lines).toContainEqual(expect.stringContaining("Completed: nodes evacuated: 5 of 5"));
    expect(lines.at(-2)).toBe("With Lifeboat: VMs moved 5, VMs stayed 1 (shop/legacy), VMs lost 0");
    expect(code).toBe(0);
  },
);

const GIVEN = "%s: %i VMs are lost without Lifeboat, none with it";
type Scenario = readonly [name: string, lost: number, outcome: RegExp, lines: readonly string[]];
// prettier-ignore
const TAINT: Scenario =
  // scenario       lost  with Lifeboat                               and these lines, in this order
  ["taint",      3,    /^With Lifeboat: VMs moved 3, VMs lost 0$/, ["with     · kube-system/log-agent  on node-1", "node-controller deletes pod virt-launcher-web-"]];
// prettier-ignore
const SCENARIOS: readonly Scenario[] = [
  TAINT,
  ["preemption", 2,    /^With Lifeboat: VMs moved 2, VMs lost 0$/, ["with       system:kube-scheduler deletes pod virt-launcher-", "with     ✓ shop/analytics  on node-1"]],
  ["pressure",   2,    /^With Lifeboat: VMs moved \d(, VMs stayed \d \(.*\))?, VMs lost 0$/, ["node condition MemoryPressure: moving the VM off node node-1"]],
];

// Runs the scenarios concurrently, because they mostly wait.
test.concurrent.each(SCENARIOS)(GIVEN, AT_NIGHT, expectRun);

async function expectRun(...[scenario, lost, outcome, expected]: Scenario): Promise<void> {
  const { code, lines, stderr } = await start(scenario);
  expect(stderr).toBe("");
  const end = lines.findIndex((line) => line.startsWith("With Lifeboat: "));
  expect(lines[end - 1]).toMatch(new RegExp(`^Without Lifeboat: .*VMs lost ${lost} \\(`));
  expect(lines[end]).toMatch(outcome);
  expect(lines).toContain("$ kubectl get evacuations --all-namespaces");
  const said = expected.map((text) => lines.findIndex((line) => line.includes(text)));
  expect(said).not.toContain(-1);
  expect(said).toEqual(said.toSorted((one, other) => one - other));
  // The pod tolerates the taint, so nothing deletes the pod.
  expect(lines.filter((line) => /log-agent +(ending|gone)/.test(line))).toEqual([]);
  // The launchers get SIGTERM before their VMs move.
  if (scenario === "pressure") {
    expect(lines.at(-3)).toMatch(/^Without the shield: .*VMs lost [1-6] \(/);
    expect(lines.at(-2)).toMatch(/^With the shield: VMs moved \d(, VMs stayed \d \(.*\))?, VMs lost 0$/);
  }
  expect(code).toBe(0);
}

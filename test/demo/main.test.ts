/** `npm start`: each story, to its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../../infra/demo/main.ts", import.meta.url));

/** As `npm start` does, without a terminal, on a machine without kubectl. */
async function start(...args: readonly string[]) {
  const env = { ...process.env, PATH: "/nonexistent" };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, lines: stdout.split("\n"), stderr };
}

const NODE: unknown = expect.stringMatching(/^node-[23]$/);

test("the whole story, to its end", { timeout: 120_000 }, async () => {
  const { code, lines, stderr } = await start();
  expect(stderr).toBe("");
  expect(lines).toContain("Lifeboat looks after 12 virtual machines on 3 nodes, beside 8 other pods.");
  // KubeVirt moves them by itself.
  expect(lines).toContain("Without Lifeboat: VMs lost 0");
  const shown = lines.slice(lines.indexOf("$ kubectl get evacuations --all-namespaces") + 1);
  expect(shown.slice(0, 7).map((line) => line.split(/ {2,}/))).toEqual([
    ["NAMESPACE", "VM", "FROM", "TO", "CAUSE", "PHASE", "ATTEMPTS"],
    ["batch", "render", "node-1", NODE, "ApiEviction", "Moved", "0"],
    ["edge", "appliance", "node-1", "ApiEviction", "Gone", "0"],
    ["edge", "router", "node-1", NODE, "ApiEviction", "Moved", "0"],
    ["shop", "ledger", "node-1", NODE, "ApiEviction", "Moved", "0"],
    ["shop", "web-1", "node-1", NODE, "ApiEviction", "Moved", "0"],
    ["shop", "web-2", "node-1", NODE, "ApiEviction", "Moved", "0"],
  ]);
  const [preflight, drain] = lines.filter((line) => line.startsWith("$"));
  expect(lines.slice(lines.indexOf(preflight ?? "")).find((line) => line.startsWith("×"))).toContain(
    "WillBlock: draining node-1",
  );
  expect(drain).toContain("(no kubectl on the PATH)");
  expect(lines.some((line) => line.endsWith("node/node-1 drained"))).toBe(true);
  expect(lines.slice(-5, -1)).toEqual([
    "VMs moved: 5  (batch/render, edge/router, shop/ledger, shop/web-1, shop/web-2)",
    "VMs shut down by their strategy: 4  (batch/gpu, edge/appliance, lab/kiosk, lab/scratch)",
    "VMs on other nodes, untouched: 3  (batch/index, shop/db, shop/web-3)",
    "VMs lost: 0",
  ]);
  expect(code).toBe(0);
});

test("the same, and Lifeboat is two pods of its cluster", { timeout: 120_000 }, async () => {
  const { code, lines, stderr } = await start("--in-cluster");
  expect(stderr).toBe("");
  expect(lines.some((line) => line.endsWith("node/node-1 drained"))).toBe(true);
  expect(lines.at(-2)).toBe("VMs lost: 0");
  expect(code).toBe(0);
});

// prettier-ignore
const stories: readonly [string, number, RegExp, readonly string[]][] = [
  // story       lost  with Lifeboat                               and so it was told, in this order
  ["preemption", 2,    /^With Lifeboat: VMs moved 2, VMs lost: 0$/, ["with       system:kube-scheduler deletes pod virt-launcher-", "with     ✓ shop/analytics  on node-1"]],
  ["taint",      3,    /^With Lifeboat: VMs moved 3, VMs lost: 0$/, ["with     · kube-system/log-agent  on node-1", "node-controller deletes pod virt-launcher-web-"]],
  ["pressure",   2,    /^With Lifeboat: VMs moved \d(, VMs stayed \d)?, VMs lost: 0$/, ["node condition MemoryPressure: moving the VM off node node-1"]],
];

// They wait far more than they work.
test.concurrent.each(stories)(
  "%s: %i VMs are lost without Lifeboat, none with it",
  { timeout: 120_000 },
  async (story, lost, outcome, told) => {
    const { code, lines, stderr } = await start(story);
    expect(stderr).toBe("");
    const end = lines.findIndex((line) => line.startsWith("With Lifeboat: "));
    expect(lines[end - 1]).toMatch(new RegExp(`^Without Lifeboat: VMs lost ${lost}  \\(`));
    expect(lines[end]).toMatch(outcome);
    expect(lines).toContain("$ kubectl get evacuations --all-namespaces");
    const said = told.map((text) => lines.findIndex((line) => line.includes(text)));
    expect(said).not.toContain(-1);
    expect(said).toEqual(said.toSorted((one, other) => one - other));
    // What tolerates a taint stays.
    expect(lines.filter((line) => /log-agent +(ending|gone)/.test(line))).toEqual([]);
    // Their launchers get SIGTERM before it is their turn to move.
    if (story === "pressure") {
      expect(lines.at(-3)).toMatch(/^Without the shield: VMs lost [1-6]  \(/);
      expect(lines.at(-2)).toMatch(/^With the shield: VMs moved \d(, VMs stayed \d)?, VMs lost: 0$/);
    }
    expect(code).toBe(0);
  },
);

test(
  "the descheduler balances a cluster under its limits, and storms without the gate",
  { timeout: 180_000 },
  async () => {
    const { code, lines, stderr } = await start("descheduler");
    expect(stderr).toBe("");
    expect(lines).toContain("Another cluster is just like this one, but without the gate EvictionsInBackground.");
    // How far beyond the limit depends on how fast cycles follow one another.
    expect(lines.at(-3)).toMatch(
      /^Gate off: (not )?balanced, VMs leaving at once ([3-9]|10) \(limit 2\), migrations \d+, VMs lost: 0$/,
    );
    expect(lines.at(-2)).toMatch(
      /^Gate on: balanced, VMs leaving at once 2 \(limit 2\), migrations [5-9], VMs lost: 0$/,
    );
    const [full, ...others] = ["node-1", "node-2", "node-3"].map((node) =>
      lines.find((line) => line.startsWith(`  ${node} `)),
    );
    expect(full).toMatch(/^ {2}node-1 +▣{2,5}▫* /);
    for (const other of others) expect(other).toMatch(/^ {2}node-\d +▣{1,5}▫* /);
    const cycles = lines.filter((line) => /gate on +cycle/.test(line));
    expect(cycles[0]).toMatch(
      /cycle 1: requested 3 \(Background 2, Evicted 1\), skipped 9 \(evacuationsPerNode 8, evictionsTotal 1\)$/,
    );
    expect(cycles.at(-1)).toMatch(/: nothing to do$/);
    expect(lines.find((line) => /gate off +cycle 1:/.test(line))).toMatch(/requested \d+ \(Refused \d+, Evicted 3\)/);
    expect(code).toBe(0);
  },
);

test("an argument that it does not know is a usage error", async () => {
  const { code, lines, stderr } = await start("--fast");
  expect(code).toBe(2);
  expect(lines).toEqual([""]);
  expect(stderr).toMatch(/^Unknown option '--fast'[^]*\n\nUsage: npm start/);
});

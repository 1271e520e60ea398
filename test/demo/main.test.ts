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

test("the whole story, to its end", { timeout: 120_000 }, async () => {
  const { code, lines, stderr } = await start();
  expect(stderr).toBe("");
  expect(lines).toContain("Lifeboat looks after 12 virtual machines on 3 nodes, beside 8 other pods.");
  expect(lines.find((line) => line.startsWith("$"))).toContain("(no kubectl on the PATH)");
  expect(lines.some((line) => line.endsWith("node/node-1 drained"))).toBe(true);
  expect(lines.slice(-5, -1)).toEqual([
    "VMs moved: 5  (batch/render, edge/router, shop/ledger, shop/web-1, shop/web-2)",
    "VMs shut down by their strategy: 4  (batch/gpu, edge/appliance, lab/kiosk, lab/scratch)",
    "VMs on other nodes, untouched: 3  (batch/index, shop/db, shop/web-3)",
    "VMs lost: 0",
  ]);
  expect(code).toBe(0);
});

test("an argument that it does not know is a usage error", async () => {
  const { code, lines, stderr } = await start("--fast");
  expect(code).toBe(2);
  expect(lines).toEqual([""]);
  expect(stderr).toMatch(/^unknown option --fast\n\nUsage: npm start/);
});

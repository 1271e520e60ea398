/**
 * The commands that only read, on a real cluster: `TEST_KUBECONFIG=… npx vitest run test/cli/real.test.ts`. Nothing is changed there;
 * without that variable the same is asked of the sandbox.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import type { Stage } from "../blackbox/stage.ts";
import { NodePreflight } from "../fuzz/contract.ts";
import { startHealthyStage } from "./doctor-stage.ts";
import { lifeboat } from "./lifeboat.ts";

const file = process.env["TEST_KUBECONFIG"];

let stage: Stage | undefined;
let kubeconfig = "";
beforeAll(async () => {
  if (file === undefined) stage = await startHealthyStage();
  kubeconfig = stage?.sandbox.kubeconfig ?? readFileSync(file ?? "", "utf8");
});
afterAll(() => stage?.stop());

const call = (line: string) => lifeboat(line, { kubeconfig });

const Checks = z.object({
  status: z.enum(["ok", "warning", "failed", "unread"]),
  checks: z.array(z.object({ group: z.string(), status: z.string(), message: z.string() })),
});

test("doctor: it comes to a verdict, and its exit code is that verdict", async () => {
  const { code, out, err } = await call("doctor -o json");
  const { status, checks } = Checks.parse(JSON.parse(out.join("\n")));
  expect(err).toEqual([]);
  expect(checks.length).toBeGreaterThan(0);
  expect(code).toBe({ ok: 0, warning: 0, unread: 4, failed: 3 }[status]);
  // For the person who runs this against a cluster of theirs.
  console.log((await call("doctor")).out.join("\n"));
});

const List = z.object({ kind: z.literal("List"), items: z.array(z.object({ kind: z.optional(z.string()) })) });
const Found = z.object({ status: z.string(), checks: z.array(z.object({ message: z.string(), status: z.string() })) });

/** Whether doctor says that the kinds are there, and may be read. */
async function isServed(message: string): Promise<boolean> {
  const { checks } = Found.parse(JSON.parse((await call("doctor -o json")).out.join("\n")));
  return checks.some((check) => check.message === message && check.status === "ok");
}

test("evacuations -A: a list, or which kinds are missing", async () => {
  const { code, out, err } = await call("evacuations -A -o json");
  if (await isServed("lifeboat.dev/v1alpha1 is served")) {
    expect({ code, err }).toEqual({ code: 0, err: [] });
    expect(List.safeParse(JSON.parse(out.join("\n"))).success).toBe(true);
  } else {
    expect(code).toBe(1);
    expect(err[0]).toMatch(/does not serve Lifeboat's kinds|not allowed/);
  }
});

/** As doctor's dry run finds it out: any node, for a preflight asks nothing of it. */
async function anyNode(): Promise<string> {
  const { err } = await call("explain node there-is-no-such-node");
  expect(err[0]).toContain('node "there-is-no-such-node" not found');
  return process.env["TEST_NODE"] ?? "node01";
}

test.runIf(file === undefined || process.env["TEST_NODE"] !== undefined)(
  "explain node: a preflight ($TEST_NODE of a real cluster)",
  async () => {
    const { code, out } = await call(`explain node ${await anyNode()} -o json`);
    const { verdict } = NodePreflight.parse(JSON.parse(out.join("\n")));
    expect(code).toBe({ Drains: 0, DrainsWithShutdowns: 0, Unknown: 4, NoRoom: 3, Blocks: 3 }[verdict]);
  },
);

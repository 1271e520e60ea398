/**
 * The commands that only read, also on a cluster of one's own, where they change nothing:
 * `TEST_KUBECONFIG=… npx vitest run test/cli/real.test.ts`. Without that variable the sandbox answers.
 */
import { readFileSync } from "node:fs";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { kubeFetch } from "../../infra/cli/kube-fetch.ts";
import type { Stage } from "../blackbox/stage.ts";
import { NodePreflight } from "./node-preflight.ts";
import { startHealthyStage } from "./doctor-stage.ts";
import { lifeboat, type Said } from "./lifeboat.ts";

const file = process.env["TEST_KUBECONFIG"];

let stage: Stage | undefined;
let kubeconfig: string;
beforeAll(async () => {
  if (file === undefined) stage = await startHealthyStage();
  kubeconfig = stage?.sandbox.kubeconfig ?? readFileSync(file ?? "", "utf8");
});
afterAll(() => stage?.stop());

const call = (line: string) => lifeboat(line, { kubeconfig });
const dataOf = ({ out }: Said): unknown => JSON.parse(out.join("\n"));

/** A cluster may be without KubeVirt or Lifeboat, or the reader without a permission: then the words say so. */
const HELPFUL = /does not serve (KubeVirt|Lifeboat)'s kinds|you are not allowed to do this/;

const Checks = z.object({
  status: z.enum(["ok", "warning", "failed", "unread"]),
  checks: z.array(z.object({ group: z.string(), status: z.string(), message: z.string() })),
});

test("doctor: a verdict, and the exit code that belongs to it", async () => {
  const said = await call("doctor -o json");
  const { status, checks } = Checks.parse(dataOf(said));
  expect({ code: said.code, err: said.err }).toEqual({
    code: { ok: 0, warning: 0, unread: 4, failed: 3 }[status],
    err: [],
  });
  expect(checks.length).toBeGreaterThan(0);
  // What a person wants to see of a cluster of theirs.
  if (file !== undefined) console.log((await call("doctor")).out.join("\n"));
});

test("evacuations -A: a list", async () => {
  const said = await call("evacuations -A -o json");
  if (said.code === 0) expect(dataOf(said)).toMatchObject({ kind: "List" });
  else expect(said).toMatchObject({ code: 1, err: [expect.stringMatching(HELPFUL), expect.anything()] });
});

const Nodes = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

test("explain node: a preflight of each of three nodes", async () => {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const answer = await kubeFetch(config)(`${config.getCurrentCluster()?.server}/api/v1/nodes?limit=3`, {});
  for (const { metadata } of Nodes.parse(await answer.json()).items) {
    const said = await call(`explain node ${metadata.name} -o json`);
    if (said.code === 1) {
      expect(said.err[0]).toMatch(HELPFUL);
    } else {
      const { verdict } = NodePreflight.parse(dataOf(said));
      expect(said.code).toBe(
        { WillSucceed: 0, WillSucceedWithShutdowns: 0, Unknown: 4, NoRoom: 3, WillBlock: 3 }[verdict],
      );
    }
  }
});

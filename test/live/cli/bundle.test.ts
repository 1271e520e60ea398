/** The command as it is installed: one file of plain JavaScript, by itself in a folder, run by Node. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { buildCommand } from "../../../infra/tools/build-command.ts";
import { createVm } from "../vm.ts";
import { startStage } from "../stage.ts";
import { NodePreflight } from "../../support/cli/node-preflight.ts";

test("lifeboat explain node, from a kubeconfig", async () => {
  const stage = await startStage({ ticking: false });
  onTestFinished(() => stage.stop());
  const { node } = await createVm(stage, "web");
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "config"), stage.sandbox.kubeconfig);
  const args = [await buildCommand(join(folder, "lifeboat.mjs")), "explain", "node", node, "-o", "json"];
  const env = { ...process.env, KUBECONFIG: join(folder, "config") };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  expect(stderr).toBe("");
  expect(NodePreflight.parse(JSON.parse(stdout))).toMatchObject({ node, verdict: "WillSucceed" });
});

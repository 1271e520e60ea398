/**
 * Tests that `lifeboat uninstall` withdraws a maintenance in progress, and waits until Lifeboat has ended the
 * maintenance.
 */
import { expect, test } from "vitest";
import type { Connection } from "../../../infra/cli/connection.ts";
import type { Host } from "../../../infra/cli/host.ts";
import { withdrawAll } from "../../../infra/cli/install/under-way.ts";
import { connectTo } from "../../support/client.ts";
import { phaseOf } from "../../support/maintenance/kernel.ts";
import { isRunning, STOP, stage, ticks, until } from "../maintenance/finishing.ts";

function notAsked(): never {
  throw new Error("not asked");
}

test("uninstall starts a VM that was stopped for a maintenance, although the node is still cordoned", async () => {
  const on = stage(STOP);
  await until(on, () => phaseOf(on.fake) === "Evacuated");
  expect(isRunning(on)).toBe(false);
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) > 0 };
  const host: Host = {
    stdout: stream,
    stderr: stream,
    env: {},
    now: () => on.app.now(),
    wait: () => ticks(on, 1),
    interrupted: new AbortController().signal,
    ask: async () => undefined,
  };
  const connection: Connection = {
    context: "",
    server: "",
    namespace: "",
    refusals: new Map(),
    warnings: new Map(),
    cluster: () => connectTo(on.fake),
    send: notAsked,
    settings: notAsked,
    trouble: () => undefined,
  };
  await withdrawAll(connection, host);
  expect(isRunning(on)).toBe(true);
  expect(said).toEqual([expect.stringMatching(/^evacuation\S+ -n apps withdrawn\n$/)]);
});

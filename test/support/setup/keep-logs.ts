/** What a real control plane has logged until a test failed, where a person finds it. */
import { TestRunner } from "vitest";
import { isReal, type Sandbox } from "../../../infra/sandbox/index.ts";

/** Before the sandbox is stopped. */
export async function keepLogsOfFailure(sandbox: Sandbox): Promise<void> {
  const test = TestRunner.getCurrentTest();
  if (test?.result?.state !== "fail" || !isReal(sandbox)) return;
  console.log(`The control plane's logs of "${test.name}" are in ${await sandbox.programs.keepLogs()}`);
}

/** Saves the logs of a real control plane after a failed test, and prints the path of the logs. */
import { TestRunner } from "vitest";
import { isReal, type Sandbox } from "../../../infra/sandbox/index.ts";

/** Saves the logs if the test failed. Call it before the sandbox stops. */
export async function keepLogsOfFailure(sandbox: Sandbox): Promise<void> {
  const test = TestRunner.getCurrentTest();
  if (test?.result?.state !== "fail" || !isReal(sandbox)) return;
  console.log(`The control plane's logs of "${test.name}" are in ${await sandbox.programs.keepLogs()}`);
}

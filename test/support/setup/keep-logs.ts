/** Keeps the logs of a real control plane up to a test's failure, where a person finds them. */
import { TestRunner } from "vitest";
import { isReal, type Sandbox } from "../../../infra/sandbox/index.ts";

/** Before the sandbox is stopped. */
export async function keepLogsOfFailure(sandbox: Sandbox): Promise<void> {
  const test = TestRunner.getCurrentTest();
  if (test?.result?.state !== "fail" || !isReal(sandbox)) return;
  console.log(`The control plane's logs of "${test.name}" are in ${await sandbox.programs.keepLogs()}`);
}

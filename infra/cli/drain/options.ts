/** The options of a drain, and the spec that they make. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { VM_ORDERS, WhenBlocked } from "../../../shared/kube/node-evacuation.ts";
import type { Form } from "../command.ts";
import { wholeSeconds } from "../../../shared/settings/time.ts";
import { CLI_MESSAGES } from "../messages.ts";
import type { At, Times } from "../time.ts";

export interface Options {
  readonly selector?: string | undefined;
  readonly dryRun?: true | undefined;
  readonly yes?: true | undefined;
  readonly at?: At | undefined;
  readonly until?: At | undefined;
  readonly order?: (typeof VM_ORDERS)[number] | undefined;
  readonly whenBlocked?: WhenBlocked | undefined;
  readonly startIf?: (typeof START_IF)[number] | undefined;
  readonly return?: true | undefined;
  readonly deleteEmptydirData?: true | undefined;
  readonly reason?: string | undefined;
  readonly waitForBlocked?: true | undefined;
  readonly forceShutdowns?: true | undefined;
  readonly maxUnavailable?: number | undefined;
  readonly whenNodeFails?: "Stop" | "Continue" | undefined;
  readonly nextNode?: "WhenUncordoned" | "WhenEvacuated" | undefined;
  readonly nodeTimeout?: number | undefined;
  readonly output: Form;
}

export const START_IF = ["Always", "WillSucceed", "WillSucceedWithShutdowns"] as const;

/** Returns the spec that `options` ask for, for each node. Defaults are the CRD's. */
export function specOf({ order, whenBlocked, startIf, reason, ...more }: Options, times: Times) {
  const [notBefore, notAfter] = [times.notBefore, times.notAfter].map((time) => time && wholeSeconds(time));
  return {
    reason,
    schedule: { notBefore, notAfter },
    startIf,
    virtualMachines: { order, whenBlocked },
    forceShutdowns: more.forceShutdowns === true,
    otherPods: more.deleteEmptydirData === true ? "EvictWithLocalData" : "Evict",
    afterwards: { returnVMs: more.return === true ? "WhenUncordoned" : "Never" },
  };
}

/** Returns the spec for several nodes. */
export function rollingSpec({ reason, schedule, ...template }: ReturnType<typeof specOf>, options: Options) {
  const { maxUnavailable, whenNodeFails, nextNode, nodeTimeout: nodeTimeoutSeconds } = options;
  return { reason, schedule, maxUnavailable, whenNodeFails, nextNode, nodeTimeoutSeconds, template };
}

export function countOf(text: string): number {
  if (/^[1-9]\d?$|^100$/.test(text)) return Number(text);
  throw new InvalidArgumentError(CLI_MESSAGES.expectedCount(100));
}

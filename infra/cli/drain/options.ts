/** The options of a drain, and the spec of the NodeEvacuation or RollingMaintenance that they request. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { NodeEvacuationSpec, VM_ORDERS, WhenBlocked } from "../../../shared/kube/node-evacuation.ts";
import type { NodeTemplate, RollingMaintenanceSpec } from "../../../shared/kube/rolling-maintenance.ts";
import type { Form } from "../command.ts";
import { wholeSeconds } from "../../../shared/settings/time.ts";
import { CLI_MESSAGES } from "../messages.ts";
import type { At, Times } from "../time.ts";
import { DRAIN_MESSAGES as MESSAGES } from "./messages.ts";

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

/** Returns the spec of each node's NodeEvacuation. Missing options have the defaults of the CRD. */
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

export function rollingSpec({ reason, schedule, ...template }: ReturnType<typeof specOf>, options: Options) {
  const { maxUnavailable, whenNodeFails, nextNode, nodeTimeout: nodeTimeoutSeconds } = options;
  return { reason, schedule, maxUnavailable, whenNodeFails, nextNode, nodeTimeoutSeconds, template };
}

type Asked = NodeTemplate & Pick<NodeEvacuationSpec, "schedule">;

/** Lists the given options that differ from the active drain, each with the active drain's value. */
export function unlikeIn(is: Asked, asked: Asked, given: Options): readonly string[] {
  return differences(given, [
    ["at", is.schedule.notBefore, asked.schedule.notBefore],
    ["until", is.schedule.notAfter, asked.schedule.notAfter],
    ["order", is.virtualMachines.order, asked.virtualMachines.order],
    ["whenBlocked", is.virtualMachines.whenBlocked, asked.virtualMachines.whenBlocked],
    ["startIf", is.startIf, asked.startIf],
    ["return", is.returnVMs, asked.returnVMs],
    ["deleteEmptydirData", is.otherPods, asked.otherPods],
    ["forceShutdowns", is.forceShutdowns, asked.forceShutdowns],
  ]);
}

/** Lists the given options that differ from the active RollingMaintenance, each with the RollingMaintenance's value. */
export function unlikeInRolling(is: RollingMaintenanceSpec, asked: Asked, given: Options): readonly string[] {
  const ofWhole = differences(given, [
    ["maxUnavailable", is.maxUnavailable, given.maxUnavailable],
    ["nextNode", is.nextNode, given.nextNode],
    ["whenNodeFails", is.whenNodeFails, given.whenNodeFails],
    ["nodeTimeout", is.nodeTimeoutSeconds, given.nodeTimeout],
  ]);
  return [...unlikeIn({ ...is.template, schedule: is.schedule }, asked, given), ...ofWhole];
}

type Value = string | number | boolean | undefined;

function differences(given: Options, rows: readonly (readonly [keyof Options, Value, Value])[]): readonly string[] {
  return rows.flatMap(([option, has, wants]) => {
    const name = option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return given[option] === undefined || has === wants ? [] : [`--${name} ${has ?? MESSAGES.notSet}`];
  });
}

export function countOf(text: string): number {
  if (/^[1-9]\d?$|^100$/.test(text)) return Number(text);
  throw new InvalidArgumentError(CLI_MESSAGES.expectedCount(100));
}

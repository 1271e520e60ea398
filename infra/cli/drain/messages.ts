/** All messages of `lifeboat drain`: its questions, its progress and its report. */
import { CLI_MESSAGES } from "../messages.ts";

export const DRAIN_MESSAGES = {
  // Before the drain
  question: (nodes: readonly string[], isAnyway: boolean) => `Drain ${nodes.join(", ")}${isAnyway ? " anyway" : ""}?`,
  otherOptions: (name: string, node: string, unlike: readonly string[]) =>
    `NodeEvacuation ${name} of node ${node} has not ended, and its options differ from yours: ${unlike.join(", ")}. Cancel it first (lifeboat cancel node/${node}), or change it: kubectl edit nodeevacuation ${name}`,
  otherRollingOptions: (name: string, unlike: readonly string[]) =>
    `RollingMaintenance ${name} of these nodes has not ended, and its options differ from yours: ${unlike.join(", ")}. Cancel it first (lifeboat cancel rollm/${name}), or change it: kubectl edit rollingmaintenance ${name}`,
  notSet: "not set",
  nodeEvacuation: (name: string, isNew: boolean) => followed(`nodeevacuation.lifeboat.dev/${name}`, isNew),
  rollingMaintenance: (name: string, isNew: boolean) => followed(`rollingmaintenance.lifeboat.dev/${name}`, isNew),

  // Progress
  vm: (vm: string, message: string) => `VM ${vm}: ${message}`,
  cannotLeave: (pod: string, message: string, fix: string | undefined) =>
    `${pod} cannot leave: ${CLI_MESSAGES.withFix(message, fix)}`,
  progress: (object: string, phase: string, message: string) => `${object}: ${phase}: ${message}`,
  withVerdict: (phase: string, verdict: string | undefined) =>
    verdict === undefined ? phase : `${phase} (${verdict})`,
  noAnswer: (why: string) => `${why}: trying again`,
  answersAgain: "the API server answers again",
  notFollowed: (time: string) => `the command stops following the drain after ${time} (--timeout). The drain continues`,

  // Descriptions of the commands for next steps
  takesBack: "allows new pods again",
  follows: "follows the drain again",
  pauses: "pauses the drain: nothing new starts",
  cancels: "cancels the drain: VMs that have not moved stay",
  reports: "shows the outcome for each VM",
  shows: "shows progress and blockers",
} as const;

function followed(object: string, isNew: boolean): string {
  return `${object} ${isNew ? "created" : "exists already, and this command follows it"}`;
}

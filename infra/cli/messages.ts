/**
 * All messages of the commands. Each message says what happened, why, and what to do. The help texts are in the files
 * of the commands.
 */
import type { NamespacedName } from "../../shared/kube/facts.ts";

const CHECK = "Check with `lifeboat doctor` whether Lifeboat runs.";
const vmText = ({ namespace, name }: NamespacedName) => `VM "${name}" in namespace "${namespace}"`;
const orSimilar = (names: readonly string[]) =>
  names.length === 0 ? "" : `. Did you mean ${names.length === 1 ? "" : "one of "}${names.join(", ")}?`;

interface Where {
  readonly context: string;
  readonly server: string;
}

interface UnreadText {
  readonly object: string;
  readonly issue: string;
}

export const CLI_MESSAGES = {
  // The command line
  expectedDuration: "Expected a time such as 30s, 5m or 1h.",
  expectedTime: (times: string) => `Expected ${times}.`,
  expectedName: (kind: string) => `Expected the name of a ${kind}: lowercase letters, digits, "-" and ".".`,
  expectedCount: (most: number) => `Expected a number from 1 to ${most}.`,
  expectedNodes: "expected names of nodes, or --selector",
  notBoth: "expected either names of nodes or --selector, but found both",
  expectedTargets: (words: string) => `expected ${words}, or --selector`,
  oddLabel: (term: string) => `--selector: expected key=value or key, got "${term}"`,
  endsTooEarly: (start: string, end: string) => `--until: expected a time after ${start}, got ${end}`,

  // The kubeconfig
  kubeconfigUnread: (file: string, why: string) => `the kubeconfig ${file} cannot be read: ${why}`,
  noKubeconfig: "there is no kubeconfig: set KUBECONFIG or --kubeconfig FILE",
  noContext: (context: string, known: readonly string[]) =>
    `--context: the kubeconfig has no context "${context}". Its contexts: ${known.join(", ") || "none"}`,
  noCurrentContext: "the kubeconfig has no current context: choose one with --context",
  noCluster: (context: string) =>
    `the kubeconfig's context "${context}" names no cluster: choose another context with --context`,

  // Answers of the API server
  where: ({ context, server }: Where) => `context "${context}", ${server}`,
  unreachable: (why: string | undefined) => `the cluster cannot be reached: ${why ?? "the connection broke"}`,
  tooSlow: "the cluster did not answer in time: try again, or set a longer --request-timeout",
  unauthorized: "the cluster does not accept your credentials: log in again, or choose another --context",
  forbidden: (said: string) => `you are not allowed to do this: ${said}`,
  noReason: "the API server does not say why",
  noKubeVirt: (request: string) =>
    `this cluster does not have KubeVirt's custom resource definitions (${request}): install KubeVirt, or choose another --context`,
  noLifeboat: (request: string) =>
    `this cluster does not have Lifeboat's custom resource definitions (${request}): run lifeboat install, or choose another --context`,
  notServed: (request: string) => `the API server does not serve ${request}`,
  answered: (request: string, code: number, said: string | undefined) =>
    `the API server answered ${request} with ${code}${said === undefined ? "" : `: ${said}`}`,
  defect: (said: string) => `this is a defect of the command lifeboat, please report it: ${said}`,

  // Objects that are not found
  noNodes: (labels: string | undefined, context: string) =>
    `no node${labels === undefined ? "" : ` has the labels ${labels}`} (context "${context}")`,
  noNode: (node: string, context: string, hint: string) => `node "${node}" not found (context "${context}")${hint}`,
  noPod: ({ namespace, name }: NamespacedName) => `pod "${name}" not found in namespace "${namespace}"`,
  notRunning: ({ namespace, name }: NamespacedName, hint: string) =>
    `VM "${name}" does not run in namespace "${namespace}"${hint}`,
  noTarget: (what: string, isAny: boolean, similar: readonly string[] = []) =>
    `${isAny ? `there is no ${what}` : `no ${what} is scheduled or in progress`}${orSimilar(similar)}`,
  noMaintenance: "no maintenance is scheduled or in progress",
  removed: (kind: string, name: string) => `${kind} ${name} was deleted while the command followed it`,
  orSimilar,

  // Objects that cannot be parsed
  unread: ({ object, issue }: UnreadText) => `${object} cannot be read, so its state is not known: ${issue}`,
  unreadTarget: (what: string, unread: readonly UnreadText[]) =>
    `the command cannot tell whether there is ${what}: ${unread.map(({ object, issue }) => `${object} cannot be read: ${issue}`).join("; ")}`,
  unreadEvacuations: (unread: readonly UnreadText[]) =>
    unread.map(({ object }) => `; ${object} cannot be read, and may be in progress`).join(""),

  // Questions before a change
  yesOrNo: (question: string) => `${question} [y/N] `,
  change: (verb: "Cancel" | "Pause" | "Resume", what: readonly string[]) => `${verb} ${what.join(", ")}?`,
  evacuationOf: (vm: NamespacedName) => `the evacuation of ${vmText(vm)}`,
  evacuate: (vm: NamespacedName, node: string) => `Evacuate ${vmText(vm)} from node "${node}"?`,
  retry: (vm: NamespacedName) => `Retry the evacuation of ${vmText(vm)} now?`,
  nothingChanged: "nothing has been changed",
  nobodyToAsk:
    "nothing has been changed: the command cannot ask, because there is no terminal. In a script, pass --yes",

  // Changes and their progress
  changed: (name: string, how: "paused" | "resumed" | "cancelled" | "withdrawn") => `${name} ${how}`,
  notReadYet: "Lifeboat has not processed the object yet",
  paused: (message: string) => `paused: nothing new starts; ${message}`,
  pausedAsPart: (name: string, rolling: string) =>
    `NodeEvacuation ${name} is part of RollingMaintenance ${rolling}, which is paused. Resume the RollingMaintenance: lifeboat resume rollm/${rolling}`,
  evacuation: (name: string) => `evacuation.lifeboat.dev/${name}`,
  waiting: "waiting for Lifeboat, which acts only once a minute if no relay is installed …",
  notReacted: (seconds: number) => `Lifeboat has not reacted for ${seconds} s. ${CHECK}`,
  notReactedYet: (seconds: number) =>
    `Lifeboat has not reacted for ${seconds} s. ${CHECK} The object stays. Lifeboat acts on the object when Lifeboat runs again.`,
  hasChanged: (kind: string, name: string) => `${kind} ${name} has just changed: try again`,
  hasJustEnded: "another evacuation of this VM has just ended: try again",
  nothingEvacuates: (vm: NamespacedName, newest: string) => `no evacuation of ${vmText(vm)} is in progress${newest}`,
  nothingToRetry: (vm: NamespacedName, newest: string) =>
    `no evacuation of ${vmText(vm)} is BackingOff or Abandoned${newest}`,
  newest: (name: string, phase: string) => `; its newest Evacuation, ${name}, is ${phase}`,
  drainTaint: (node: string, taint: string) =>
    `node "${node}" has the drain taint ${taint}, which would start the evacuation again. Remove the taint first: kubectl taint node ${node} ${taint}-`,
  starts: (time: string) => `the drain starts ${time}`,
  isGivenUp: (time: string) => `the drain expires ${time}`,
  noneStarts: (time: string) => `no drain of a node starts after ${time}; drains that have started continue`,

  // Predictions
  notKnown: (what: string) => `not known: ${what}`,
  noRoom: "no room",
  evictionAllowed: "allowed",
  evictionRefused: "refused (429)",
  evictionMoves: "refused (429) while the VM moves away",
  eviction: (pod: string, answer: string, reason: string) => `pod ${pod}: an eviction would be ${answer}: ${reason}`,
  strategyOf: (vm: string, strategy: string) => `VM ${vm}, eviction strategy ${strategy}`,
  requestedBy: (who: readonly string[]) => `its evacuation was requested by ${who.join(", ")}`,

  // Tables
  blocker: (object: string, pod: string, since: string | undefined, why: string) =>
    `${object}: ${pod}${since === undefined ? "" : `, for ${since}`}: ${why}`,
  withFix: (message: string, fix: string | undefined) => (fix === undefined ? message : `${message} (${fix})`),
  unlisted: (vms: number, moved: number) =>
    `${vms} more VM${vms === 1 ? "" : "s"} not listed (of all VMs of this node, ${moved} ${moved === 1 ? "has" : "have"} moved)`,

  // Files with a secret
  fileExists: (file: string) =>
    `${file} exists, but the command writes secrets only into new files: move the file, or name another file`,
  fileUnwritten: (file: string, why: string) => `${file} cannot be written: ${why}`,
} as const;

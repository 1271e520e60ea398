/** Finds maintenance by the names of nodes, NodeEvacuations or RollingMaintenances. */
import { hasEnded, type NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import { hasRollingEnded, type RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";
import { nameMatching } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed, UsageError } from "./failed.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { nodesOf } from "./preflight.ts";
import { printable } from "./print.ts";
import { similar } from "./suggest.ts";

const NODE = /^(?:nodes?|no)\//i;
const EVACUATION = /^(?:nevac|nodeevacuations?(?:\.lifeboat\.dev)?)\//i;
const ROLLING = /^(?:rollm|rollingmaintenances?(?:\.lifeboat\.dev)?)\//i;

export const WORDS = "node-1, node/node-1, nodeevacuation/NAME or rollm/NAME";

/**
 * Parses an argument and adds it to the earlier arguments. Drops duplicates. An argument without a kind is the name of
 * a node.
 */
export function targetWords(text: string, before: readonly string[]): readonly string[] {
  const kind = [NODE, EVACUATION, ROLLING].find((one) => one.test(text)) ?? NODE;
  nameMatching("node", kind)(text);
  return [...new Set([...before, text])];
}

export interface Targets {
  readonly nodeEvacuations: readonly NodeEvacuationFacts[];
  readonly rolling: readonly RollingMaintenanceFacts[];
}

export const NO_TARGETS: Targets = { nodeEvacuations: [], rolling: [] };

export async function allTargets(connection: Connection): Promise<Targets> {
  const cluster = connection.cluster();
  const [nodeEvacuations, rolling] = await Promise.all([
    cluster.list("nodeevacuations"),
    cluster.list("rollingmaintenances"),
  ]);
  return { nodeEvacuations, rolling };
}

interface Asked {
  readonly words: readonly string[];
  readonly selector?: string | undefined;
  readonly isOver?: boolean;
}

/** Finds the maintenance for the arguments. Throws if an argument matches nothing. */
export async function targetsOf({ words, selector, isOver = false }: Asked, connection: Connection): Promise<Targets> {
  if (words.length === 0 && selector === undefined) throw new UsageError(MESSAGES.expectedTargets(WORDS));
  const named = selector === undefined ? words : await nodesOf(words, selector, connection);
  const all = await allTargets(connection);
  const open: Targets = {
    nodeEvacuations: all.nodeEvacuations.filter((one) => isOver || !hasEnded(one)),
    rolling: all.rolling.filter((one) => isOver || !hasRollingEnded(one)),
  };
  const found = named.map((word) => matching(word, open));
  const targets = {
    nodeEvacuations: [...new Set(found.flatMap(({ nodeEvacuations }) => nodeEvacuations))],
    rolling: [...new Set(found.flatMap(({ rolling }) => rolling))],
  };
  // It is no error if a selector matches nodes without maintenance.
  const missing = found.findIndex(({ nodeEvacuations, rolling }) => nodeEvacuations.length + rolling.length === 0);
  const isNone = targets.nodeEvacuations.length + targets.rolling.length === 0;
  if (isNone || (selector === undefined && missing >= 0)) {
    throw new Failed(missingText(named[Math.max(0, missing)] ?? "", open, isOver));
  }
  return targets;
}

function matching(word: string, { nodeEvacuations, rolling }: Targets): Targets {
  if (ROLLING.test(word))
    return { ...NO_TARGETS, rolling: rolling.filter(({ name }) => name === word.replace(ROLLING, "")) };
  const name = word.replace(EVACUATION, "").replace(NODE, "");
  const is = (one: NodeEvacuationFacts) => (EVACUATION.test(word) ? one.name : one.spec.nodeName) === name;
  return { ...NO_TARGETS, nodeEvacuations: nodeEvacuations.filter(is) };
}

function missingText(word: string, { nodeEvacuations, rolling }: Targets, isOver: boolean): string {
  if (ROLLING.test(word)) return MESSAGES.noTarget(`RollingMaintenance "${word.replace(ROLLING, "")}"`, isOver);
  if (EVACUATION.test(word)) return MESSAGES.noTarget(`NodeEvacuation "${word.replace(EVACUATION, "")}"`, isOver);
  const name = word.replace(NODE, "");
  const known = nodeEvacuations.map(({ spec }) => `node/${spec.nodeName}`);
  const hints = [
    ...similar(`node/${name}`, known),
    ...(nodeEvacuations.some((one) => one.name === name) ? [`nodeevacuation/${name}`] : []),
    ...(rolling.some((one) => one.name === name) ? [`rollm/${name}`] : []),
    ...rolling.filter(({ status }) => status.nodes.some((row) => row.name === name)).map((one) => `rollm/${one.name}`),
  ];
  return MESSAGES.noTarget(`maintenance of node "${name}"`, isOver, [...new Set(hints)].map(printable));
}

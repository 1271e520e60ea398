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
import { listAll, type UnreadObject } from "./unread.ts";

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
  /** The objects that cannot be parsed. Each can be a maintenance in progress. */
  readonly unread: readonly UnreadObject[];
}

export const NO_TARGETS: Targets = { nodeEvacuations: [], rolling: [], unread: [] };

export async function allTargets(connection: Connection): Promise<Targets> {
  const cluster = connection.cluster();
  const [nodeEvacuations, rolling] = await Promise.all([
    listAll(cluster, "nodeevacuations"),
    listAll(cluster, "rollingmaintenances"),
  ]);
  const unread = [...rolling.unread, ...nodeEvacuations.unread];
  return { nodeEvacuations: nodeEvacuations.items, rolling: rolling.items, unread };
}

interface Asked {
  readonly words: readonly string[];
  readonly selector?: string | undefined;
  readonly isOver?: boolean;
  /** Whether an argument may name an object that cannot be parsed. */
  readonly isUnreadFound?: boolean;
}

/** Finds the maintenance for the arguments. Throws if an argument matches nothing. */
export async function targetsOf(asked: Asked, connection: Connection): Promise<Targets> {
  const { words, selector, isOver = false } = asked;
  if (words.length === 0 && selector === undefined) throw new UsageError(MESSAGES.expectedTargets(WORDS));
  const named = selector === undefined ? words : await nodesOf(words, selector, connection);
  const all = await allTargets(connection);
  const open = openIn(all, asked);
  const found = named.map((word) => matching(word, open));
  const targets = joined(found);
  // It is no error if a selector matches nodes without maintenance.
  const missing = found.findIndex(isEmpty);
  if (isEmpty(targets) || (selector === undefined && missing >= 0)) {
    throw new Failed(missingText(named[Math.max(0, missing)] ?? "", { ...open, unread: all.unread }, isOver));
  }
  return targets;
}

function openIn({ nodeEvacuations, rolling, unread }: Targets, { isOver = false, isUnreadFound }: Asked): Targets {
  return {
    nodeEvacuations: nodeEvacuations.filter((one) => isOver || !hasEnded(one)),
    rolling: rolling.filter((one) => isOver || !hasRollingEnded(one)),
    unread: isUnreadFound === true ? unread : [],
  };
}

function joined(found: readonly Targets[]): Targets {
  return {
    nodeEvacuations: [...new Set(found.flatMap(({ nodeEvacuations }) => nodeEvacuations))],
    rolling: [...new Set(found.flatMap(({ rolling }) => rolling))],
    unread: [...new Set(found.flatMap(({ unread }) => unread))],
  };
}

function isEmpty({ nodeEvacuations, rolling, unread }: Targets): boolean {
  return nodeEvacuations.length + rolling.length + unread.length === 0;
}

function matching(word: string, { nodeEvacuations, rolling, unread }: Targets): Targets {
  const odd = unread.filter((one) => isNamed(one, word));
  if (ROLLING.test(word)) {
    const found = rolling.filter(({ name }) => name === word.replace(ROLLING, ""));
    return { ...NO_TARGETS, rolling: found, unread: odd };
  }
  const name = word.replace(EVACUATION, "").replace(NODE, "");
  const is = (one: NodeEvacuationFacts) => (EVACUATION.test(word) ? one.name : one.spec.nodeName) === name;
  return { ...NO_TARGETS, nodeEvacuations: nodeEvacuations.filter(is), unread: odd };
}

function isNamed({ resource, name }: UnreadObject, word: string): boolean {
  if (ROLLING.test(word)) return resource === "rollingmaintenances" && name === word.replace(ROLLING, "");
  return resource === "nodeevacuations" && EVACUATION.test(word) && name === word.replace(EVACUATION, "");
}

function missingText(word: string, all: Targets, isOver: boolean): string {
  const isOfNode = !ROLLING.test(word) && !EVACUATION.test(word);
  // The node of an unreadable NodeEvacuation is not known, so it can be any node.
  const odd = all.unread.filter((one) => (isOfNode ? one.resource === "nodeevacuations" : isNamed(one, word)));
  const [first] = odd;
  if (first === undefined) return notFoundText(word, all, isOver);
  return isOfNode ? MESSAGES.unreadTarget(whatOf(word), odd) : MESSAGES.unread(first);
}

function whatOf(word: string): string {
  if (ROLLING.test(word)) return `RollingMaintenance "${word.replace(ROLLING, "")}"`;
  if (EVACUATION.test(word)) return `NodeEvacuation "${word.replace(EVACUATION, "")}"`;
  return `maintenance of node "${word.replace(NODE, "")}"`;
}

function notFoundText(word: string, { nodeEvacuations, rolling }: Targets, isOver: boolean): string {
  if (ROLLING.test(word) || EVACUATION.test(word)) return MESSAGES.noTarget(whatOf(word), isOver);
  const name = word.replace(NODE, "");
  const known = nodeEvacuations.map(({ spec }) => `node/${spec.nodeName}`);
  const hints = [
    ...similar(`node/${name}`, known),
    ...(nodeEvacuations.some((one) => one.name === name) ? [`nodeevacuation/${name}`] : []),
    ...(rolling.some((one) => one.name === name) ? [`rollm/${name}`] : []),
    ...rolling.filter(({ status }) => status.nodes.some((row) => row.name === name)).map((one) => `rollm/${one.name}`),
  ];
  return MESSAGES.noTarget(whatOf(word), isOver, [...new Set(hints)].map(printable));
}

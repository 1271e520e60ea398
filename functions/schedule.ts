/**
 * Does the scheduled work. A cron trigger or the server in the cluster starts a run (a tick) every minute. A run covers
 * all clusters, and limits the time for each cluster.
 */
import * as z from "zod/mini";
import { ClusterError, isSilence } from "../shared/kube/failures.ts";
import { descheduleIfDue } from "./deschedule.ts";
import type { Platform } from "./env.ts";
import { RejectionError } from "./errors.ts";
import { scanActive, scanAll, scanUnderWay, SETTINGS_SECONDS } from "./reconcile.ts";
import { clusterNames, findEntry, type Surroundings, type Target, targetOf } from "./target.ts";
import { hash8 } from "../shared/kube/objects.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

const FULL_SCAN_EVERY = 10;
const TICK_MS = 60_000;

export interface Tick {
  readonly cluster: string;
  readonly scheduledTime: number;
}

const Message = z.lazy(() => z.object({ cluster: z.string(), scheduledTime: z.number(), sentAt: z.number() }));

/**
 * The maximum age of a message in the queue, in milliseconds. Lifeboat drops older messages, because new messages
 * follow every minute.
 */
const LATEST_MS = 55_000;
const MESSAGES_AT_A_TIME = 100;
/**
 * The number of clusters to reconcile in parallel without a queue. Without this limit, clusters that do not answer
 * would use up all connections.
 */
const CLUSTERS_AT_A_TIME = 4;
/** The time limit for one cluster while other clusters wait, in seconds. Applies only without a queue. */
const SHARE_SECONDS = 10;
/** Without a queue, a scheduled run starts no work on another cluster after this time, in milliseconds. */
const LAST_START_MS = 50_000;

/** Puts a message for every cluster into the queue. Without a queue, works on clusters until the minute is over. */
export async function runTick(scheduledTime: number, surroundings: Surroundings): Promise<void> {
  const ticks = (await clusterNames(surroundings)).map((cluster) => ({ cluster, scheduledTime }));
  const queue = surroundings.env.TICKS;
  if (queue === undefined) return await inTurn(ticks, surroundings);
  const sentAt = surroundings.platform.now().getTime();
  const messages = ticks.map((tick) => ({ body: { ...tick, sentAt } }));
  for (let at = 0; at < messages.length; at += MESSAGES_AT_A_TIME) {
    await queue.sendBatch(messages.slice(at, at + MESSAGES_AT_A_TIME));
  }
}

/**
 * Processes each message of a batch separately. Does not retry a failed message, because the next message for the
 * cluster follows within a minute.
 */
export async function receiveTicks(bodies: readonly unknown[], surroundings: Surroundings): Promise<void> {
  for (const { sentAt, ...tick } of bodies.map((body) => Message.parse(body))) {
    const isLate = surroundings.platform.now().getTime() - sentAt > LATEST_MS;
    await (isLate ? miss(tick, surroundings.platform) : tickOne(tick, surroundings));
  }
}

/**
 * Works on clusters in a random order. If the minute ends before a cluster's turn, a later run probably reaches that
 * cluster.
 */
async function inTurn(ticks: readonly Tick[], surroundings: Surroundings): Promise<void> {
  const { platform } = surroundings;
  const began = platform.now().getTime();
  const share = ticks.length > CLUSTERS_AT_A_TIME ? SHARE_SECONDS : undefined;
  const waiting = shuffled(ticks, platform.random).values();
  const worker = async () => {
    for (const tick of waiting) {
      const isLate = platform.now().getTime() - began > LAST_START_MS;
      await (isLate ? miss(tick, platform) : tickOne(tick, surroundings, share));
    }
  };
  await Promise.all(Array.from({ length: CLUSTERS_AT_A_TIME }, worker));
}

function miss({ cluster, scheduledTime }: Tick, { log }: Platform): void {
  const due = new Date(scheduledTime).toISOString();
  log({ level: "warn", cluster, message: MESSAGES.tickMissing, due });
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(Math.floor(random() * rest.length), 1));
}

/** Does the scheduled work for one cluster. Never throws. `seconds` is the time limit for all of this work. */
async function tickOne({ cluster: name, scheduledTime }: Tick, surroundings: Surroundings, seconds?: number) {
  const target = await targetNamed(name, surroundings, seconds);
  if (target === undefined || !(await isAnswering(target))) return;
  let isUnderWay = false;
  const scan = async () => {
    ({ isUnderWay } = await (isFullScan(name, scheduledTime) ? scanAll : scanActive)(target));
  };
  const stayed = async () => {
    if (isUnderWay && seconds === undefined) await stay(target, scheduledTime + TICK_MS, surroundings);
  };
  // The descheduling cycle runs even if the scan fails.
  const attempt = (work: (of: Target) => Promise<void>) =>
    work(target).catch((error: unknown) => target.logFailure(MESSAGES.scheduledTick, error));
  await attempt(scan);
  const cycle = attempt(descheduleIfDue);
  await attempt(stayed);
  // If `leave` is set, does not wait for the descheduling cycle, which can take longer than a minute.
  await (surroundings.leave === undefined ? cycle : surroundings.leave(cycle));
}

/**
 * The pause, in milliseconds, before a scheduled run reconciles a draining node again. The run repeats the reconcile,
 * because without a relay no event reports that a VM has left the node.
 */
const STAY_MS = 5000;

async function stay(target: Target, until: number, surroundings: Surroundings): Promise<void> {
  const { platform, stays = () => false } = surroundings;
  if (!stays() || platform.now().getTime() + 2 * STAY_MS >= until) return;
  await platform.sleep(STAY_MS);
  const { isUnderWay } = await scanUnderWay(target);
  if (isUnderWay) await stay(target, until, surroundings);
}

/** Returns whether the scheduled run is a full scan. Every tenth run for a cluster is a full scan. */
export function isFullScan(name: string, scheduledTime: number): boolean {
  const minute = Math.floor(scheduledTime / TICK_MS);
  return (minute + Number.parseInt(hash8(name), 16)) % FULL_SCAN_EVERY === 0;
}

/**
 * Returns the target for the name of a cluster. If the cluster's entry in the configuration is invalid or deleted, logs
 * the problem and returns undefined.
 */
async function targetNamed(name: string, surroundings: Surroundings, seconds?: number): Promise<Target | undefined> {
  const { log, now } = surroundings.platform;
  const shareEnds = seconds === undefined ? undefined : new Date(now().getTime() + seconds * 1000);
  try {
    return targetOf(name, await findEntry(name, surroundings), surroundings, shareEnds);
  } catch (error) {
    const why =
      error instanceof RejectionError
        ? { reason: error.reason, ...error.details }
        : { doing: MESSAGES.findingCluster, error: error instanceof Error ? error.stack : undefined };
    log({ level: "error", cluster: name, ...why });
    return undefined;
  }
}

async function isAnswering(target: Target): Promise<boolean> {
  try {
    const { silence } = await target.settings(target.connect(SETTINGS_SECONDS));
    if (silence !== undefined) throw silence;
  } catch (error) {
    // A read that the API server refuses proves that the API server answers.
    if (error instanceof ClusterError && !isSilence(error)) return true;
    target.logFailure(MESSAGES.scheduledTick, error);
    return false;
  }
  return true;
}

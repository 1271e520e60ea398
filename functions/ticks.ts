/** Which clusters a tick is for, and that each gets its own share of it. */
import * as z from "zod/mini";
import { clusterNames, type Surroundings } from "./target.ts";
import { type Tick, tickOne } from "./schedule.ts";

/** `sentAt`: milliseconds since the epoch. */
const Message = z.lazy(() => z.object({ cluster: z.string(), scheduledTime: z.number(), sentAt: z.number() }));

/** A message that waited longer is not acted on: the next tick has sent another one. */
const LATEST_MS = 55_000;
/** The limit of `sendBatch`. */
const MESSAGES_AT_A_TIME = 100;
/**
 * Without a queue a tick has six connections and one isolate's memory for all clusters: with all of them at once, a few that do
 * not answer would use up the deadlines of those that are only waiting for a connection.
 */
const CLUSTERS_AT_A_TIME = 4;
/** Without a queue: what one cluster may take while other clusters wait for their turn. */
const SHARE_SECONDS = 10;
/** Without a queue: no cluster's share begins later than this. */
const LAST_BEGIN_MS = 50_000;

/** Sends the tick to every cluster by the queue; without one, works on as many as the minute allows, in turn. */
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

/** Works on the messages of a batch, each by itself. Nothing is sent again: the next tick is a minute away. */
export async function receiveTicks(bodies: readonly unknown[], surroundings: Surroundings): Promise<void> {
  for (const { sentAt, ...tick } of bodies.map((body) => Message.parse(body))) {
    const isLate = surroundings.platform.now().getTime() - sentAt > LATEST_MS;
    await (isLate ? miss(tick, surroundings) : tickOne(tick, surroundings));
  }
}

/** Clusters that the last tick of this isolate did not reach come first. Otherwise the order is random. */
async function inTurn(ticks: readonly Tick[], surroundings: Surroundings): Promise<void> {
  const { platform, state } = surroundings;
  const began = platform.now().getTime();
  const share = ticks.length > CLUSTERS_AT_A_TIME ? SHARE_SECONDS : undefined;
  const [first = [], others = []] = partition(shuffled(ticks, platform.random), ({ cluster }) =>
    state.missedLast.has(cluster),
  );
  state.missedLast.clear();
  const waiting = [...first, ...others].values();
  const worker = async () => {
    for (const tick of waiting) {
      const isLate = platform.now().getTime() - began > LAST_BEGIN_MS;
      await (isLate ? miss(tick, surroundings) : tickOne(tick, surroundings, share));
    }
  };
  await Promise.all(Array.from({ length: CLUSTERS_AT_A_TIME }, worker));
}

function miss(tick: Tick, { platform, state }: Surroundings): void {
  state.missedLast.add(tick.cluster);
  const due = new Date(tick.scheduledTime).toISOString();
  platform.log({ level: "warn", cluster: tick.cluster, message: "the tick has not reached this cluster", due });
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(Math.floor(random() * rest.length), 1));
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly (readonly T[])[] {
  return [items.filter((item) => isFirst(item)), items.filter((item) => !isFirst(item))];
}

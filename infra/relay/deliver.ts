/** Delivers events, one batch at a time, and repeats failed deliveries. */
import { LARGEST_BATCH, type LifeboatEvent } from "../../shared/events/cloud-event.ts";
import { backoffMs, type Clock, pause, type Random } from "./clock.ts";
import type { Log } from "./log.ts";
import { halfOf, type Outbox } from "./outbox.ts";
import type { Deliver, Delivered, DeliveryResult } from "./send.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

export interface DeliveryOptions {
  readonly outbox: Outbox;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * How long the relay collects events for a batch, in milliseconds. For each object, the relay sends only the newest
   * event of each type.
   */
  readonly gatherMs?: number;
  readonly onResult: (result: DeliveryResult, events: readonly LifeboatEvent[]) => void;
}

export interface Delivery {
  put(event: LifeboatEvent): void;
  stop(): Promise<void>;
}

/** The pauses after failures. They are short, because a preempted VM has by default only 120 s to move. */
const RETRY = { firstMs: 500, longestMs: 5_000 };
/** The maximum pause that the Worker can request. */
const LONGEST_RETRY_AFTER_MS = 60_000;

export function startDelivery({
  outbox,
  deliver,
  clock,
  random,
  log,
  gatherMs = 0,
  onResult,
}: DeliveryOptions): Delivery {
  const stopped = new AbortController();
  let filled = Promise.withResolvers<void>();
  let wake: (() => void) | undefined;
  /** The number of successive failed deliveries, and the maximum size of the next batch. */
  let [failures, limit] = [0, LARGEST_BATCH];

  const run = async () => {
    while (!stopped.signal.aborted) {
      if (outbox.length === 0) {
        filled = Promise.withResolvers();
        await filled.promise;
        continue;
      }
      if (gatherMs > 0 && outbox.length < limit) await pause(clock, gatherMs, stopped.signal);
      const events = outbox.first(limit, clock.now());
      const outcome = await deliver(events, stopped.signal);
      if (stopped.signal.aborted) return;
      onResult(outcome.result, events);
      await react(events, outcome);
    }
  };

  const react = async (events: readonly LifeboatEvent[], outcome: Delivered): Promise<void> => {
    switch (outcome.result) {
      case "accepted":
        outbox.settle(events);
        if (failures > 0) log("info", MESSAGES.accepted, { waiting: outbox.length });
        [failures, limit] = [0, Math.min(limit * 2, LARGEST_BATCH)];
        return;
      case "refused":
        return refuse(events, outcome);
      case "unavailable":
      case "misconfigured":
        return await fail(events, outcome);
    }
  };

  /** Halves the size of the next batch after a refusal. If the refused batch has only one event, drops that event. */
  const refuse = (events: readonly LifeboatEvent[], { status, reason }: Delivered) => {
    limit = halfOf(events);
    if (events.length > 1) return log("warn", MESSAGES.refusedBatch, { status, reason });
    outbox.settle(events);
    const [{ id, subject } = {}] = events;
    log("error", MESSAGES.refusedEvent, { status, reason, id, subject });
  };

  const fail = async (
    events: readonly LifeboatEvent[],
    { result, status, reason, retryAfterMs = 0 }: Delivered,
  ): Promise<void> => {
    failures += 1;
    // If the Worker answers with an error, the batch can be too large, or one of its objects can cause the error. The
    // next batch is therefore smaller, and the failed events wait.
    const answers = result === "unavailable" && status !== undefined;
    if (answers) {
      if (events.length > 1) limit = halfOf(events);
      outbox.postpone(events, new Date(clock.now().getTime() + RETRY.longestMs));
    }
    const ms = Math.max(Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS), backoffMs(RETRY, failures, random));
    const details = { status, reason, failures, waiting: outbox.length, inMs: Math.round(ms) };
    const level = result === "misconfigured" ? "error" : "warn";
    log(level, MESSAGES.notDelivered, details);
    const woken = new AbortController();
    // A new event ends the pause early, because it need not wait for the retry of the failed events.
    if (answers && retryAfterMs === 0) wake = () => void clock.setTimer(RETRY.firstMs, () => woken.abort());
    await pause(clock, ms, AbortSignal.any([stopped.signal, woken.signal]));
    wake = undefined;
  };

  const running = run();
  return {
    put(event) {
      if (outbox.put(event, clock.now())) wake?.();
      filled.resolve();
    },
    async stop() {
      stopped.abort();
      filled.resolve();
      await running;
    },
  };
}

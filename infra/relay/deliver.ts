/**
 * Empties an outbox: one delivery at a time, repeated until the Worker takes it.
 * Owns: at-least-once delivery, back-off, batches that the Worker refuses. Does not own: the outbox, the request.
 */
import { LARGEST_BATCH, type LifeboatEvent } from "../../shared/events/cloud-event.ts";
import { backoffMs, type Random } from "./backoff.ts";
import { type Clock, pause } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Outbox } from "./outbox.ts";
import type { Outcome, Result, Send } from "./send.ts";

export interface DeliveryOptions {
  readonly outbox: Outbox;
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onResult: (result: Result, events: readonly LifeboatEvent[]) => void;
}

export interface Delivery {
  put(event: LifeboatEvent): void;
  stop(): Promise<void>;
}

/** Short: a disruption is over after about two minutes, and the Worker may be back at any time. */
const RETRY = { firstMs: 500, longestMs: 15_000 };
/** A longer pause would outlast any disruption. */
const LONGEST_RETRY_AFTER_MS = 60_000;

export function startDelivery({ outbox, send, clock, random, log, onResult }: DeliveryOptions): Delivery {
  const stopped = new AbortController();
  let filled = Promise.withResolvers<void>();
  let failures = 0;
  let limit = LARGEST_BATCH;

  const run = async () => {
    while (!stopped.signal.aborted) {
      const batch = outbox.first(limit);
      if (batch.length === 0) {
        filled = Promise.withResolvers<void>();
        await filled.promise;
        continue;
      }
      const outcome = await send(batch, stopped.signal);
      if (stopped.signal.aborted) return;
      onResult(outcome.result, batch);
      await react(batch, outcome);
    }
  };

  const react = async (batch: readonly LifeboatEvent[], outcome: Outcome): Promise<void> => {
    switch (outcome.result) {
      case "accepted":
        outbox.settle(batch);
        if (failures > 0) log("info", "Lifeboat takes deliveries again", { waiting: outbox.length });
        failures = 0;
        limit = Math.min(limit * 2, LARGEST_BATCH);
        return;
      case "refused":
        return refuse(batch, outcome);
      case "unavailable":
        if (outcome.status !== undefined) lighten(batch);
        return wait(outcome);
      case "misconfigured":
        return wait(outcome);
    }
  };

  /** Halves the batch until the refused event is alone in it: one bad event must not cost 99 good ones. */
  const refuse = (batch: readonly LifeboatEvent[], { status, reason }: Outcome) => {
    limit = Math.max(1, batch.length >> 1);
    if (batch.length > 1) return log("warn", "Lifeboat refused a batch, sending half of it", { status, reason });
    outbox.settle(batch);
    const [{ id, subject } = {}] = batch;
    log("error", "Lifeboat refused an event, dropping it", { status, reason, id, subject });
  };

  /** The Worker answers, so either the batch is too much for it, or it fails on one of these objects. */
  const lighten = (batch: readonly LifeboatEvent[]) => {
    limit = Math.max(1, batch.length >> 1);
    outbox.postpone(batch);
  };

  const wait = async ({ result, status, reason, retryAfterMs = 0 }: Outcome) => {
    failures += 1;
    const asked = Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
    const ms = Math.max(asked, backoffMs(RETRY, failures, random));
    const level = result === "misconfigured" ? "error" : "warn";
    const details = { status, reason, failures, waiting: outbox.length, inMs: Math.round(ms) };
    log(level, "Lifeboat did not take a delivery, sending all of it again", details);
    await pause(clock, ms, stopped.signal);
  };

  const running = run();
  return {
    put(event) {
      outbox.put(event, clock.now());
      filled.resolve();
    },
    async stop() {
      stopped.abort();
      filled.resolve();
      await running;
    },
  };
}

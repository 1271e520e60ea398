/** Empties an outbox: one delivery at a time, repeated until the Worker takes it. */
import { LARGEST_BATCH, type LifeboatEvent } from "../../shared/events/cloud-event.ts";
import { backoffMs, type Clock, pause, type Random } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Outbox, Part } from "./outbox.ts";
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

/** Of one part of the outbox: deliveries that have failed one after another, when the next one is due, and of how many events. */
interface Pace {
  readonly failures: number;
  readonly due: number;
  readonly limit: number;
}

interface Delivered {
  readonly part: Part;
  readonly events: readonly LifeboatEvent[];
}

/** What has failed waits longer each time. What is new does not wait for it, unless new events fail, too. */
export function startDelivery({ outbox, send, clock, random, log, onResult }: DeliveryOptions): Delivery {
  const stopped = new AbortController();
  let filled = Promise.withResolvers<void>();
  const atOnce: Pace = { failures: 0, due: 0, limit: LARGEST_BATCH };
  const paces: Record<Part, Pace> = { New: atOnce, Failed: atOnce };
  /** In turn, if both are due. */
  let turns: readonly Part[] = ["New", "Failed"];

  const now = () => clock.now().getTime();
  const waiting = () => turns.filter((part) => outbox.first(1, part).length > 0);

  const run = async () => {
    while (!stopped.signal.aborted) {
      const part = waiting().find((one) => paces[one].due <= now());
      if (part === undefined) {
        await untilDue();
        continue;
      }
      turns = [otherThan(part), part];
      const events = outbox.first(paces[part].limit, part);
      const outcome = await send(events, stopped.signal);
      if (stopped.signal.aborted) return;
      onResult(outcome.result, events);
      react({ part, events }, outcome);
    }
  };

  /** Or until there is a new event. */
  const untilDue = async () => {
    filled = Promise.withResolvers<void>();
    const over = new AbortController();
    const due = Math.min(...waiting().map((part) => paces[part].due));
    const pauses = due === Infinity ? [] : [pause(clock, due - now(), over.signal)];
    await Promise.race([filled.promise, ...pauses]);
    over.abort();
  };

  const react = ({ part, events }: Delivered, outcome: Outcome): void => {
    switch (outcome.result) {
      case "accepted":
        outbox.settle(events);
        if (paces[part].failures > 0) log("info", "Lifeboat takes deliveries again", { waiting: outbox.length });
        return pace(part, { failures: 0, due: 0, limit: Math.min(paces[part].limit * 2, LARGEST_BATCH) });
      case "refused":
        return refuse({ part, events }, outcome);
      case "unavailable":
      case "misconfigured":
        return fail({ part, events }, outcome);
    }
  };

  const pace = (part: Part, tweak: Partial<Pace>) => {
    paces[part] = { ...paces[part], ...tweak };
  };

  /** Halves the batch until the refused event is alone in it: one bad event must not cost 99 good ones. */
  const refuse = ({ part, events }: Delivered, { status, reason }: Outcome) => {
    pace(part, { limit: halfOf(events) });
    if (events.length > 1) return log("warn", "Lifeboat refused a batch, sending half of it", { status, reason });
    outbox.settle(events);
    const [{ id, subject } = {}] = events;
    log("error", "Lifeboat refused an event, dropping it", { status, reason, id, subject });
  };

  const fail = ({ part, events }: Delivered, { result, status, reason, retryAfterMs }: Outcome) => {
    const failures = paces[part].failures + 1;
    const asked = Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
    const ms = Math.max(asked, backoffMs(RETRY, failures, random));
    const due = now() + ms;
    pace(part, { failures, due });
    const isAnswer = result === "unavailable" && status !== undefined;
    if (isAnswer) lighten({ part, events });
    // Nothing else would be taken before, either.
    if (!isAnswer || retryAfterMs !== undefined) pace(otherThan(part), { due });
    const level = result === "misconfigured" ? "error" : "warn";
    const details = { status, reason, failures, waiting: outbox.length, inMs: Math.round(ms) };
    log(level, "Lifeboat did not take a delivery, sending all of it again", details);
  };

  /** The Worker answers, so either the batch is too much for it, or it fails on one of these objects. */
  const lighten = ({ part, events }: Delivered) => {
    const [{ failures, due }, limit] = [paces[part], halfOf(events)];
    pace(part, { limit });
    if (part === "New") {
      const isFirst = outbox.first(1, "Failed").length === 0;
      pace(
        "Failed",
        isFirst
          ? { failures, due, limit }
          : { due: Math.min(paces.Failed.due, due), limit: Math.min(paces.Failed.limit, limit) },
      );
    }
    outbox.postpone(events);
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

function otherThan(part: Part): Part {
  return part === "New" ? "Failed" : "New";
}

function halfOf({ length }: readonly LifeboatEvent[]): number {
  return Math.max(1, length >> 1);
}

/**
 * Driving evacuations on: passes, one after another, until nothing is due or the time is over.
 * Owns: the loop, and that one isolate runs one loop a cluster. Does not own: the pass (pass.ts).
 */
import { type Pointer, pointerKey } from "./pointer.ts";
import type { Result } from "./pass.ts";

export interface DriveDeps {
  /** One pass over the VMIs under evacuation, and what the pointers lead to. */
  readonly pass: (named: readonly Pointer[]) => Promise<Result>;
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
  /** Seconds after which no further pass begins. */
  readonly seconds: number;
}

/** How often a waiting loop looks whether somebody has asked for a pass; and the shortest time between two. */
const SLICE_MS = 100;
/** A loop that has not been seen for so long was killed with its request. */
const LOST_MS = 10_000;
/** A loop so near its end may not get round to another pass: better begin a new one. */
const CLOSING_MS = 5_000;

interface Loop {
  /** Milliseconds since the epoch: when it was last seen. */
  seen: number;
  readonly end: number;
  readonly asked: Map<string, Pointer>;
  again: boolean;
}

/**
 * The loops of this isolate, by cluster. Plain values only: promises and timers never cross requests. If they are gone,
 * or of another isolate, two loops run at once, which costs requests and does no harm.
 */
export class Drives {
  readonly #loops = new Map<string, Loop>();

  /** Runs passes for the cluster; if a loop is running already, that one is asked to look again at once. */
  async drive(cluster: string, named: readonly Pointer[], deps: DriveDeps): Promise<void> {
    const now = deps.now().getTime();
    const running = this.#loops.get(cluster);
    if (running !== undefined && now - running.seen < LOST_MS && running.end - now > CLOSING_MS) {
      for (const pointer of named) running.asked.set(pointerKey(pointer), pointer);
      running.again = true;
      return;
    }
    const asked = new Map(named.map((pointer) => [pointerKey(pointer), pointer]));
    const loop: Loop = { seen: now, end: now + deps.seconds * 1000, asked, again: false };
    this.#loops.set(cluster, loop);
    try {
      await run(loop, deps);
    } finally {
      if (this.#loops.get(cluster) === loop) this.#loops.delete(cluster);
    }
  }
}

async function run(loop: Loop, { pass, now, sleep }: DriveDeps): Promise<void> {
  do {
    const named = [...loop.asked.values()];
    loop.asked.clear();
    loop.again = false;
    loop.seen = now().getTime();
    const result = await pass(named);
    const { requeueAfterSeconds } = result;
    if (isUnfinished(result)) askAgain(loop, named);
    if (requeueAfterSeconds === undefined && !loop.again) return;
    const due = now().getTime() + (requeueAfterSeconds ?? 0) * 1000;
    do {
      await sleep(SLICE_MS);
      loop.seen = now().getTime();
    } while (!loop.again && loop.seen < Math.min(due, loop.end));
    // Whoever has asked meanwhile relies on this loop, also at its end.
  } while (loop.seen < loop.end || loop.again);
}

/** Another writer was faster, or something could not be done. */
function isUnfinished({ requeueAfterSeconds, failures }: Result): boolean {
  return requeueAfterSeconds === 0 || failures > 0;
}

/** Until a VMI has the label, only its name leads to it. What was asked for meanwhile is newer. */
function askAgain({ asked }: Loop, named: readonly Pointer[]): void {
  for (const pointer of named) if (!asked.has(pointerKey(pointer))) asked.set(pointerKey(pointer), pointer);
}

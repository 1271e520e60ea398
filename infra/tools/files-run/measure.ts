/** The files that run for one request of each kind, of a Lifeboat that has answered others before. */
import { setImmediate } from "node:timers/promises";
import { requestEviction } from "../../lab/stage/drain-client.ts";
import { tickTime } from "../../lab/stage/tick-times.ts";
import { markDisruptionTarget, type Pod, pods, systemClock, USERS } from "../../sandbox/index.ts";
import { type Coverage, startCoverage } from "./coverage.ts";
import { CLUSTER, type Place, startPlace } from "./place.ts";

export interface FilesRun {
  /** Until something is put off until after the answer, or until the answer is there. */
  readonly before: ReadonlySet<string>;
  /** And with what follows it. */
  readonly all: ReadonlySet<string>;
}

export async function measureFiles(): Promise<Readonly<Record<"first eviction" | "deletion" | "idle tick", FilesRun>>> {
  const place = await startPlace();
  const coverage = startCoverage();
  try {
    const count = countIn(place, coverage);
    // What stands still is measured before anything moves, and everything is done once before it is measured.
    await place.tick(tickTime(CLUSTER, "small"));
    const idleTick = await count(() => place.tick(tickTime(CLUSTER, "small")));
    await evict(place, "warm");
    await preempt(place, "warm-too");
    await place.settled();
    const firstEviction = await count(() => evict(place, "first"));
    const deletion = await count(() => preempt(place, "preempted"));
    return { "first eviction": firstEviction, deletion, "idle tick": idleTick };
  } finally {
    coverage.stop();
    await place.stop();
  }
}

function countIn(place: Place, coverage: Coverage) {
  return async (request: () => Promise<unknown>): Promise<FilesRun> => {
    let before: ReadonlySet<string> | undefined;
    coverage.take();
    place.onAnswer = () => {
      before ??= coverage.take();
    };
    await request();
    await place.settled();
    await setImmediate();
    const rest = coverage.take();
    place.onAnswer = () => undefined;
    return { before: before ?? rest, all: new Set([...(before ?? []), ...rest]) };
  };
}

async function launcherOf({ sandbox }: Place, vm: string): Promise<Pod> {
  const { items } = await sandbox.client.list(pods, "apps");
  const launcher = items.find(({ metadata }) => metadata.name.startsWith(`virt-launcher-${vm}-`));
  if (launcher === undefined) throw new Error(`${vm} has no launcher`);
  return launcher;
}

/** As a drain does. */
async function evict(place: Place, vm: string): Promise<void> {
  const { code } = await requestEviction(place.sandbox.client, await launcherOf(place, vm));
  if (code !== 429) throw new Error(`the eviction of ${vm} was answered ${code}`);
}

/** As the scheduler does. */
async function preempt(place: Place, vm: string): Promise<void> {
  const pod = await launcherOf(place, vm);
  const scheduler = place.sandbox.client.as(USERS.scheduler.user);
  const disruption = {
    reason: "PreemptionByScheduler",
    message: "preempting to accommodate a higher priority pod",
  } as const;
  await markDisruptionTarget(scheduler, systemClock, pod, disruption);
  const isDeleted = await scheduler.delete(pods, pod.metadata).catch(() => false);
  if (isDeleted) throw new Error(`the deletion of ${vm} was allowed`);
}

/** The Workers of a run: so many at once, each followed by another one when it dies. */
import type { Front } from "./front.ts";
import type { Instance, Instances } from "./instances.ts";
import type { Plan } from "./plan.ts";

export interface Crew {
  readonly alive: readonly Instance[];
  /** Workers that died in the middle of their work. */
  readonly deaths: number;
  /** What descheduling cycles were answered. */
  readonly cycles: readonly string[];
  /** No Worker answers at the address for so long. */
  silence(ms: number): void;
  /** The relay asks the next Worker to look at everything, or its cron trigger fires. */
  tick(): void;
  /** Two cycles at the same moment, by two Workers if there are two. */
  deschedule(): void;
  /** From now on they die, one after another, as the plan says. */
  arm(): void;
  /** From now on no Worker dies or is silent. */
  spare(): void;
  stop(): Promise<void>;
}

export interface CrewOptions {
  readonly instances: Instances;
  readonly front: Front;
  readonly plan: Pick<Plan, "workers" | "kills" | "spread">;
}

/** Most ticks look at what is under way; full scans find the marks that Lifeboat was not asked about. */
const TURNS: readonly ((worker: Instance) => Promise<unknown>)[] = [
  (worker) => worker.tick("small"),
  (worker) => worker.tick("full"),
  (worker) => worker.tick("small"),
  (worker) => worker.ask("POST", "/reconcile"),
];

export async function startCrew({ instances, front, plan }: CrewOptions): Promise<Crew> {
  let kills: number[] = [];
  const alive: (Instance | undefined)[] = [];
  const pending = new Set<Promise<unknown>>();
  const cycles: string[] = [];
  let [deaths, turns, reviews] = [0, 0, 0];
  let silentUntil = 0;
  let stopped = false;

  const track = (work: Promise<unknown>): void => {
    const settled = work.catch(() => undefined).finally(() => pending.delete(settled));
    pending.add(settled);
  };

  const start = async (index: number): Promise<void> => {
    const skew = plan.workers[index] ?? 0;
    const onDeath = () => {
      const dead = alive[index];
      alive[index] = undefined;
      if (dead === undefined || stopped) return;
      deaths += 1;
      front.drop(dead.name);
      track(instances.end(dead));
      track(start(index));
    };
    const instance = await instances.start(skew, { onDeath });
    if (stopped) return await instances.end(instance);
    alive[index] = instance;
    instance.link.limit(kills.shift() ?? Infinity);
  };
  await Promise.all(plan.workers.map((_, index) => start(index)));

  const present = (): readonly Instance[] => alive.filter((instance) => instance !== undefined);

  front.answering = () => {
    const here = present();
    if (Date.now() < silentUntil) return undefined;
    reviews += 1;
    return here[plan.spread ? reviews % here.length : 0];
  };

  const cycle = async (instance: Instance): Promise<void> => {
    const status = await instance.ask("POST", "/deschedule").catch(() => undefined);
    if (!stopped) cycles.push(String(status ?? "no answer"));
  };

  return {
    get alive() {
      return present();
    },
    get deaths() {
      return deaths;
    },
    cycles,
    deschedule() {
      const here = present();
      for (const instance of [here.at(0), here.at(-1)]) if (instance !== undefined) track(cycle(instance));
    },
    arm() {
      kills = [...plan.kills];
      for (const { link } of present()) link.limit(kills.shift() ?? Infinity);
    },
    silence(ms) {
      silentUntil = Date.now() + ms;
      for (const { name } of present()) front.drop(name);
    },
    tick() {
      const here = present();
      turns += 1;
      const next = here[turns % here.length];
      if (next === undefined) return;
      track(TURNS[turns % TURNS.length]?.(next) ?? Promise.resolve());
    },
    spare() {
      kills = [];
      silentUntil = 0;
      for (const { link } of present()) link.limit(Infinity);
    },
    async stop() {
      stopped = true;
      front.answering = () => undefined;
      // Also those that have died, and those that are to follow them: they would act in the next run.
      await Promise.all([...present().map((instance) => instances.end(instance)), ...pending]);
    },
  };
}

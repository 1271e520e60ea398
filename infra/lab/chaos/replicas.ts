/** The Workers or in-cluster replicas of Lifeboat in a run. A new replica replaces each dead replica. */
import type { Form, Replica } from "./forms/form.ts";
import type { Plan } from "./plan.ts";

export interface Replicas {
  readonly alive: readonly Replica[];
  /** The number of replicas that died during their work. */
  readonly deaths: number;
  /** Makes Lifeboat's address unavailable for `ms` milliseconds. */
  silence(ms: number): void;
  /** Asks a replica for a full scan, or fires its cron trigger. */
  tick(): void;
  /**
   * Makes replicas die. Each replica, running or new, takes the next number in `writes`, and dies after that many
   * writes. If no number is left, the replica does not die.
   */
  kill(writes: readonly number[]): void;
  /** After this call, no replica dies or stops answering. */
  spare(): void;
  stop(): Promise<void>;
}

/**
 * Each tick performs the next of these actions. The list contains `reconcile`, because only a full scan finds VMIs
 * whose evacuationNodeName was set without a request to Lifeboat.
 */
const TURNS: readonly ((replica: Replica) => Promise<unknown>)[] = [
  (replica) => replica.tick(),
  (replica) => replica.reconcile(),
  (replica) => replica.tick(),
  (replica) => replica.reconcile(),
];

export async function startReplicas(
  form: Form,
  { replicas, spread }: Pick<Plan, "replicas" | "spread">,
): Promise<Replicas> {
  let kills: number[] = [];
  const alive: (Replica | undefined)[] = [];
  const pending = new Set<Promise<unknown>>();
  let [deaths, turns, reviews] = [0, 0, 0];
  let silentUntil = 0;
  let stopped = false;

  const track = (work: Promise<unknown>): void => {
    const settled = work.catch(() => undefined).finally(() => pending.delete(settled));
    pending.add(settled);
  };
  const start = async (index: number): Promise<void> => {
    const replica = await form.start(() => {
      const dead = alive[index];
      alive[index] = undefined;
      if (dead === undefined || stopped) return;
      deaths += 1;
      form.proxy.drop(dead.name);
      track(form.end(dead));
      track(start(index));
    });
    if (stopped) return await form.end(replica);
    alive[index] = replica;
    replica.link.limit(kills.shift() ?? Infinity);
  };
  await Promise.all(Array.from({ length: replicas }, (_, index) => start(index)));

  const present = (): readonly Replica[] => alive.filter((replica) => replica !== undefined);
  form.proxy.answering = () => {
    const here = present();
    if (Date.now() < silentUntil) return undefined;
    reviews += 1;
    return here[spread ? reviews % here.length : 0];
  };

  return {
    get alive() {
      return present();
    },
    get deaths() {
      return deaths;
    },
    silence(ms) {
      silentUntil = Date.now() + ms;
      for (const { name } of present()) form.proxy.drop(name);
    },
    tick() {
      const here = present();
      const turn = TURNS[turns % TURNS.length];
      const next = here[turns++ % here.length];
      if (next !== undefined && turn !== undefined) track(turn(next));
    },
    kill(writes) {
      kills = [...writes];
      for (const { link } of present()) link.limit(kills.shift() ?? Infinity);
    },
    spare() {
      kills = [];
      silentUntil = 0;
      for (const { link } of present()) link.limit(Infinity);
    },
    async stop() {
      stopped = true;
      form.proxy.answering = () => undefined;
      // Also waits until dead and starting replicas have stopped. They would otherwise act in the next run.
      await Promise.all([...present().map((replica) => form.end(replica)), ...pending]);
    },
  };
}

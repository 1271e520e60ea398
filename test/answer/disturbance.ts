/** Lists the ways in which one request can fail during an evacuation. */
import { expect } from "vitest";
import { reconcileWithin } from "../../functions/reconcile.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import type { Stores } from "../../shared/kube/cache.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { Deps } from "../../shared/reconcile/carry-out.ts";
import { reconcileActive, reconcileAll, reconcileRequested } from "../../shared/reconcile/reconcile.ts";
import type { RequestInfo } from "../support/cluster/request-info.ts";
import { type Before, failure } from "../support/cluster/api.ts";
import type { FakeCluster } from "../support/cluster.ts";
import { type App, openApp } from "../support/app.ts";
import { NOW } from "../support/fixtures.ts";

/** Returns the faulty answer to a request. Some faults also perform the request. */
export type Fault = (asked: RequestInfo, course: Course) => Response | Promise<never>;
const never = () => new Promise<never>(() => undefined);
const lost = (): Promise<never> => Promise.reject(new TypeError("fetch failed"));

const refusal =
  (code: number, reason: string): Fault =>
  () => {
    const { body } = failure(code, reason);
    return Response.json(body, { status: code });
  };

export const WRITE_FAULTS: Readonly<Record<string, Fault>> = {
  "is refused: 403": refusal(403, "Forbidden"),
  "is refused: 409": refusal(409, "Conflict"),
  "is refused: 422": refusal(422, "Invalid"),
  "is refused: 429": refusal(429, "TooManyRequests"),
  "never arrives": lost,
  "is done, and its answer is lost": (asked, { fake }) => {
    fake.api.answer(asked);
    return lost();
  },
  "is done, and the function dies after it": (asked, { fake, die }) => {
    fake.api.answer(asked);
    die();
    return never();
  },
};

export const READ_FAULTS: Readonly<Record<string, Fault>> = {
  "is forbidden": refusal(403, "Forbidden"),
  // A broken connection is not a fault in this list, because the client repeats the read.
  "gets no answer in time": () => Promise.reject(new ClusterError({ reason: "DeadlineExceeded" })),
  // A read of the VMI still returns the current VMI, because Lifeboat relies on a VMI that is as new as the
  // Evacuations.
  "is as old as the round before": (asked, { fake, before }) => {
    const isVmi = asked.label === "get virtualmachineinstances";
    const { code, body } = fake.api.at(isVmi ? fake.api.snapshot() : before, () => fake.api.answer(asked));
    return Response.json(body, { status: code });
  },
  // This fault does not affect lists of migrations. When an Evacuation ends, Lifeboat finds in these lists the
  // migrations that it must delete.
  "is an empty list": (asked, { fake }) => {
    const { code, body } = fake.api.answer(asked);
    const isEmpty = asked.verb === "list" && asked.resource !== "virtualmachineinstancemigrations";
    return Response.json(isEmpty ? { kind: "List", metadata: {}, items: [] } : body, { status: code });
  },
};

export interface Course {
  readonly fake: FakeCluster;
  readonly die: () => void;
  readonly before: Snapshot;
}
/** `history` contains the cluster's earlier states and the current state. */
export type Watching = (fake: FakeCluster, history: readonly Snapshot[]) => Stores;
export type Snapshot = ReturnType<FakeCluster["api"]["snapshot"]>;

/** Identifies a request. `time` is 1 for the first request with this label. */
export interface Request {
  readonly label: string;
  readonly time: number;
}

export interface Disturbance {
  readonly request: Request;
  readonly fault: Fault;
  /** If set, every later request with this label fails, too. */
  readonly isLasting?: boolean;
}

/** Runs instances (isolates) of the Worker in sequence. One request of one isolate fails. */
export class Disturbed {
  readonly #fake: FakeCluster;
  readonly #disturbance: Disturbance | undefined;
  readonly requests = new Map<string, number>();
  readonly #history: Snapshot[];
  seconds = 0;
  isDisturbed = false;

  readonly #watching: Watching | undefined;

  constructor(fake: FakeCluster, disturbance?: Disturbance, watching?: Watching) {
    this.#fake = fake;
    this.#watching = watching;
    this.#disturbance = disturbance;
    this.#history = [fake.api.snapshot()];
  }

  get now(): Date {
    return new Date(NOW.getTime() + this.seconds * 1000);
  }

  remember(): void {
    this.#history.push(this.#fake.api.snapshot());
  }

  async isolate(work: (app: App) => Promise<unknown>): Promise<void> {
    const death = Promise.withResolvers<void>();
    let isDead = false;
    const die = () => {
      isDead = true;
      death.resolve();
    };
    const disturb: Before = (_, asked) => {
      if (isDead) return never();
      const fault = asked && this.#faultOf(asked);
      if (!fault) return undefined;
      this.isDisturbed = true;
      return fault(asked, { fake: this.#fake, die, before: this.#history.at(-2) ?? this.#fake.api.snapshot() });
    };
    const watching = this.#watching;
    const stores = watching && (() => watching(this.#fake, [...this.#history, this.#fake.api.snapshot()]));
    const app = openApp(this.#fake, disturb, stores && { stores });
    app.pass(this.seconds);
    await Promise.race([work(app).then(() => app.settle()), death.promise]);
    expect(app.log.filter(({ message }) => message === "unexpected error")).toEqual([]);
  }

  /** Reconciles. Ignores a failure, because a later reconcile repeats the work. */
  async reconcile(isFull = false): Promise<void> {
    await this.isolate(({ target }) => {
      const reconciling = isFull
        ? reconcileWithin(target, 60, reconcileAll, { fresh: true })
        : reconcileWithin(target, 20, reconcileActive);
      return reconciling.catch(() => undefined);
    });
  }

  /** Reconciles the VMI. In a real cluster, the relay requests this reconcile after a watch reports a change. */
  async report(vmi: NamespacedName): Promise<void> {
    if (this.#watching === undefined) return;
    const work = (deps: Deps) => reconcileRequested([{ kind: "VirtualMachineInstance", ...vmi }], deps);
    await this.isolate(({ target }) => reconcileWithin(target, 20, work, { watched: true }));
  }

  #faultOf({ label }: RequestInfo): Fault | undefined {
    const time = (this.requests.get(label) ?? 0) + 1;
    this.requests.set(label, time);
    const { request, fault, isLasting = false } = this.#disturbance ?? {};
    if (request?.label !== label || time < request.time || (time > request.time && !isLasting)) return undefined;
    return fault;
  }
}

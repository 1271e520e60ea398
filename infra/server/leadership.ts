/**
 * Uses a Lease to choose the replica that does the periodic work. Several replicas can do this work at the same time
 * without harm. As in client-go, a Lease has expired if it has not changed for `LEASE_SECONDS`.
 */
import { giveLeaseBack, readLease, takeLease } from "../../shared/kube/lease.ts";
import type { Client } from "../../shared/kube/client.ts";
import { type Clock, pause } from "../relay/clock.ts";
import { NAME, NAMESPACE } from "./names.ts";

const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;
const KEY = { namespace: NAMESPACE, name: NAME };

export interface LeadershipOptions {
  readonly identity: string;
  readonly connect: () => Client;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  /** The time at which this replica's Lease expires, in milliseconds. */
  #until = 0;
  /** The newest known version of the Lease, and the time at which this replica first read that version. */
  #seen: { readonly resourceVersion: string | undefined; readonly at: number } | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  isLeader(): boolean {
    return this.#options.clock.now().getTime() < this.#until;
  }

  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.renew().catch(this.#options.onFailure);
      await pause(this.#options.clock, RENEW_EVERY_MS, signal);
    }
    if (this.isLeader()) await this.#giveBack().catch(this.#options.onFailure);
  }

  /** Acquires or renews the Lease. Does nothing if another replica holds the Lease. */
  async renew(): Promise<void> {
    const { identity, clock, connect } = this.#options;
    const now = clock.now();
    const asked = now.getTime();
    const lease = await readLease(KEY, connect());
    if (this.#seen?.resourceVersion !== lease.resourceVersion) {
      this.#seen = { resourceVersion: lease.resourceVersion, at: asked };
    }
    const isOwn = lease.holder === identity;
    const isFree = lease.holder === undefined || asked - (this.#seen?.at ?? asked) >= LEASE_SECONDS * 1000;
    if (!isOwn && !isFree) return void (this.#until = 0);
    const holding = { holder: identity, seconds: LEASE_SECONDS, now, renewal: isOwn };
    const taken = await takeLease(KEY, lease, holding, connect());
    // This replica counts the Lease's duration from a time before its write. Any other replica counts from its own next
    // read, normally after that write. The Lease thus expires for this replica before it expires for the others.
    this.#until = taken === "Conflict" ? 0 : asked + LEASE_SECONDS * 1000;
  }

  async #giveBack(): Promise<void> {
    this.#until = 0;
    const { identity, connect } = this.#options;
    const lease = await readLease(KEY, connect());
    if (lease.holder === identity) await giveLeaseBack(KEY, lease, connect());
  }
}

/**
 * Which replica ticks: the holder of a Lease.
 *
 * It saves requests, no more: any number of replicas may tick at the same time, as any number of isolates do. As in client-go, another's
 * Lease has expired when it has not changed for its duration by this replica's own clock.
 */
import * as z from "zod/mini";
import { kind, Meta, part, Text } from "../../shared/cluster/kinds/fields.ts";
import { object } from "../../shared/cluster/paths.ts";
import { parseAnswer } from "../../shared/cluster/read.ts";
import type { Send } from "../../shared/cluster/transport.ts";
import { type Clock, pause } from "../relay/clock.ts";
import { NAME, NAMESPACE } from "./names.ts";

const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;
const PATH = object("leases", { namespace: NAMESPACE, name: NAME });

const Lease = kind(
  () => ({ metadata: Meta, spec: part({ holderIdentity: Text, leaseTransitions: z.nullish(z.number()) }) }),
  ({ metadata: { resourceVersion }, spec: { holderIdentity: holder, leaseTransitions } }) => ({
    resourceVersion,
    holder,
    transitions: leaseTransitions ?? 0,
  }),
);
type Lease = z.output<typeof Lease>;

export interface LeadershipOptions {
  readonly identity: string;
  readonly send: () => Send;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  /** Until when this replica holds the Lease. */
  #until = 0;
  /** The Lease as last seen, and since when. */
  #seen: { readonly resourceVersion: string; readonly at: number } | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  isLeader(): boolean {
    return this.#options.clock.now().getTime() < this.#until;
  }

  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch(this.#options.onFailure);
      await pause(this.#options.clock, RENEW_EVERY_MS, signal);
    }
    if (this.isLeader()) await this.#giveBack().catch(this.#options.onFailure);
  }

  /** Takes or renews the Lease, if it is this replica's to take. */
  async look(): Promise<void> {
    const { identity, clock } = this.#options;
    const asked = clock.now().getTime();
    const lease = await this.#read();
    if (this.#seen?.resourceVersion !== lease.resourceVersion) {
      this.#seen = { resourceVersion: lease.resourceVersion, at: asked };
    }
    const isOwn = lease.holder === identity;
    const isFree = lease.holder === undefined || asked - this.#seen.at >= LEASE_SECONDS * 1000;
    if (!isOwn && !isFree) return void (this.#until = 0);
    const isWritten = await this.#write(lease, {
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: microTime(clock.now()),
      ...(!isOwn && { acquireTime: microTime(clock.now()), leaseTransitions: lease.transitions + 1 }),
    });
    // From before the request: no other replica can have counted for longer.
    this.#until = isWritten ? asked + LEASE_SECONDS * 1000 : 0;
  }

  async #giveBack(): Promise<void> {
    this.#until = 0;
    const lease = await this.#read();
    if (lease.holder === this.#options.identity) await this.#write(lease, { holderIdentity: "" });
  }

  async #read(): Promise<Lease> {
    const { body } = await this.#options.send()({ method: "GET", path: PATH });
    return parseAnswer(Lease, body, `GET ${PATH}`);
  }

  /** False: another replica was first. */
  async #write({ resourceVersion }: Lease, spec: Readonly<Record<string, unknown>>): Promise<boolean> {
    const body = { metadata: { resourceVersion }, spec };
    const { code } = await this.#options.send()({ method: "PATCH", path: PATH, body, expect: [409] });
    return code !== 409;
  }
}

/** Kubernetes' MicroTime takes six digits, and no fewer. */
function microTime(now: Date): string {
  return now.toISOString().replace("Z", "000Z");
}

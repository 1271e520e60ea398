/**
 * The Lease that lets one descheduling cycle at a time request.
 *
 * A cycle takes it once and never renews it: every request of a cycle ends before the Lease does.
 */

/** Longer than a cycle lives, with a minute for clocks that differ. */
export const LEASE_SECONDS = 300;

export interface LeaseFacts {
  /** Absent: there is no Lease yet. */
  readonly resourceVersion?: string;
  /** Absent or empty: no cycle holds it. */
  readonly holder?: string | undefined;
  /** RFC 3339: when the last cycle took it. */
  readonly acquiredAt?: string | undefined;
  readonly seconds?: number | undefined;
}

/** Since the last cycle began; NaN if none has. */
function ageOf({ acquiredAt }: LeaseFacts, now: Date): number {
  return (now.getTime() - Date.parse(acquiredAt ?? "")) / 1000;
}

/** One from the future was not taken by a cycle of Lifeboat's. */
export function isHeld(lease: LeaseFacts, now: Date): boolean {
  const { holder = "", seconds = LEASE_SECONDS } = lease;
  return holder !== "" && Math.abs(ageOf(lease, now)) < seconds;
}

/** Whether a cycle is due. A last cycle in the future was not one of Lifeboat's. */
export function isDue(lease: LeaseFacts, intervalSeconds: number, now: Date): boolean {
  return intervalSeconds > 0 && !(Math.abs(ageOf(lease, now)) < intervalSeconds);
}

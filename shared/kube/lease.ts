/** Acquires, renews and releases a Lease, which only one holder can have at a time. */
import type { NamespacedName } from "./facts.ts";
import { MANAGED_BY, MANAGED_BY_LABEL } from "./names.ts";
import { type Client, meaningOf } from "./client.ts";
import type { LeaseFacts } from "./schemas/lease.ts";

/**
 * Returns whether the Lease has a holder and has not expired. If the Lease contains no duration, the duration is
 * `longest`, in seconds.
 */
export function isHeld({ holder = "", acquiredAt, seconds }: LeaseFacts, longest: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(acquiredAt ?? "");
  return holder !== "" && Math.abs(age) < (seconds ?? longest) * 1000;
}

export async function readLease(key: NamespacedName, cluster: Client): Promise<LeaseFacts> {
  return (await cluster.get("leases", key)) ?? {};
}

export interface Holding {
  readonly holder: string;
  readonly seconds: number;
  readonly now: Date;
  /** Whether to renew the Lease. A renewal does not change the time of acquisition. */
  readonly renewal?: boolean;
}

const CONFLICTS = { 404: "Conflict", 409: "Conflict" } as const;

/** Acquires the Lease and returns it. Returns a conflict if another holder acquired it first. */
export async function takeLease(
  key: NamespacedName,
  { resourceVersion, transitions = 0 }: LeaseFacts,
  { holder, seconds, now, renewal = false }: Holding,
  cluster: Client,
): Promise<LeaseFacts | "Conflict"> {
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: seconds,
    renewTime: microTime(now),
    ...(!renewal && { acquireTime: microTime(now), leaseTransitions: transitions + 1 }),
  };
  const metadata = { ...key, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } };
  const manifest = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
  const answer = await (resourceVersion === undefined
    ? cluster.create("leases", manifest)
    : cluster.patch("leases", key, { metadata: { resourceVersion }, spec }));
  return meaningOf(answer, CONFLICTS) === "Conflict" ? "Conflict" : answer.facts();
}

/**
 * Releases the Lease and writes `annotations` at the same time. An annotation with the value null is removed. The Lease
 * keeps its time of acquisition, from which Lifeboat computes when the next descheduling cycle is due. Returns a
 * conflict if the Lease has expired and another holder has acquired it.
 */
export async function giveLeaseBack(
  key: NamespacedName,
  { resourceVersion }: LeaseFacts,
  cluster: Client,
  annotations: Readonly<Record<string, string | null>> = {},
): Promise<"Done" | "Conflict"> {
  const body = { metadata: { resourceVersion, annotations }, spec: { holderIdentity: "" } };
  return meaningOf(await cluster.patch("leases", key, body), CONFLICTS);
}

/** Formats a time as Kubernetes' MicroTime, which has exactly six digits. */
function microTime(now: Date): string {
  return now.toISOString().replace("Z", "000Z");
}

/** Takes, renews and gives back a Lease, which one holder has at a time. */
import type { NamespacedName } from "./facts.ts";
import { MANAGED_BY, MANAGED_BY_LABEL } from "./names.ts";
import { type Client, meaningOf } from "./client.ts";
import type { LeaseFacts } from "./schemas/lease.ts";

/**
 * Returns whether the holder still has the Lease. `longest`: the duration in seconds, used if the Lease contains none.
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
  /** Renews the Lease, and keeps its time of acquisition. */
  readonly renewal?: boolean;
}

const CONFLICTS = { 404: "Conflict", 409: "Conflict" } as const;

/** Takes the Lease and returns it. Conflict: another holder took it first. */
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
 * Gives the Lease back. The time of acquisition stays in the Lease. `annotations`: written at the same time; null
 * removes an annotation. Conflict: the Lease had expired, and another holder has it.
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

/** Renders Kubernetes' MicroTime, which has exactly six digits. */
function microTime(now: Date): string {
  return now.toISOString().replace("Z", "000Z");
}

/** Finds a Lease that serves as a clock, because the expressions of a policy cannot read the time. */
import * as z from "zod/mini";
import type { Send } from "../../../shared/kube/transport.ts";
import type { Host } from "../host.ts";

export interface HoldClock {
  readonly namespace: string;
  readonly name: string;
  readonly holdSeconds: number;
}

const NAMESPACE = "kube-system";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const MANAGER = "kube-controller-manager";

const Lease = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ renewTime: z.optional(z.string()), leaseDurationSeconds: z.optional(z.number()) }),
});
type Lease = z.output<typeof Lease>;
const Leases = z.object({ items: z.array(Lease) });

/** The minimum number of times that a leader renews its Lease during the Lease's duration. */
const RENEWALS = 5;
/** The seconds between two renewals of an API server's own Lease. The Lease's duration, an hour, is much longer. */
const API_SERVER_SECONDS = 10;

/**
 * Finds the Lease of kube-controller-manager. If there is none, and the cluster has only one API server, finds this
 * API server's Lease. Returns undefined if no Lease is renewed often enough.
 */
export async function findClock(send: () => Send, host: Pick<Host, "now">): Promise<HoldClock | undefined> {
  const answer = await send()({ method: "GET", path: `${LEASES}/${MANAGER}`, expect: [404] });
  const lease = Lease.safeParse(answer.body).data;
  if (lease !== undefined && isRenewed(lease, host)) {
    return clockOf(MANAGER, (lease.spec.leaseDurationSeconds ?? 0) / RENEWALS);
  }
  const query = { labelSelector: "apiserver.kubernetes.io/identity=kube-apiserver" };
  const listed = await send()({ method: "GET", path: LEASES, query, expect: [404] });
  const [only, ...others] = (Leases.safeParse(listed.body).data?.items ?? []).filter((one) => isRenewed(one, host));
  return only === undefined || others.length > 0 ? undefined : clockOf(only.metadata.name, API_SERVER_SECONDS);
}

export async function leaseState(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  send: Send,
  host: Pick<Host, "now">,
): Promise<"Renewed" | "Stopped" | "Missing"> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const { code, body } = await send({ method: "GET", path, expect: [404] });
  if (code === 404) return "Missing";
  const lease = Lease.safeParse(body).data;
  return lease !== undefined && isRenewed(lease, host) ? "Renewed" : "Stopped";
}

function isRenewed({ spec: { renewTime, leaseDurationSeconds = 0 } }: Lease, host: Pick<Host, "now">): boolean {
  return (host.now().getTime() - Date.parse(renewTime ?? "")) / 1000 < leaseDurationSeconds + CLOCKS_SECONDS;
}

/** The maximum difference between the clocks of this machine and of the cluster, in seconds. */
const CLOCKS_SECONDS = 300;

const LONGEST_SECONDS = 90;
/**
 * The policy for preemptions refuses a pod's deletion at most until the pod's condition DisruptionTarget has this age,
 * in seconds. kube-controller-manager resets this condition after 120 s.
 */
const END_SECONDS = 110;
const SHORTEST_SECONDS = 20;

/**
 * Returns the Lease, and the seconds for which the policy refuses a deletion. Each missed renewal of the Lease
 * makes the refusals longer. With three missed renewals, the refusals last at most `END_SECONDS`. Returns undefined if
 * the refusals would last less than `SHORTEST_SECONDS`.
 */
export function clockOf(name: string, renewalSeconds: number): HoldClock | undefined {
  const holdSeconds = Math.floor(Math.min(LONGEST_SECONDS, END_SECONDS - 3 * renewalSeconds));
  return holdSeconds < SHORTEST_SECONDS ? undefined : { namespace: NAMESPACE, name, holdSeconds };
}

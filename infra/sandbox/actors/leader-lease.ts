/**
 * kube-controller-manager's leader election. There is only one candidate, which renews the Lease every two seconds.
 * Because CEL has no clock, ValidatingAdmissionPolicies read the current time from the Lease's renewTime. Upstream:
 * client-go `tools/leaderelection` with the defaults of `--leader-elect-lease-duration` and
 * `--leader-elect-retry-period`.
 */
import type { Actor, ActorOptions } from "./actor.ts";
import { microTimestamp } from "./clock.ts";
import { startController, type Result } from "./controller.ts";
import { leases } from "./resources.ts";

const LEASE = { namespace: "kube-system", name: "kube-controller-manager" };
const RENEW_MS = 2000;
const LEASE_SECONDS = 15;

export function startLeaderLease(options: ActorOptions): Actor {
  const { client, clock } = options;

  const renew = async (): Promise<Result> => {
    const times = { renewTime: microTimestamp(clock), leaseDurationSeconds: LEASE_SECONDS };
    const lease = await client.get(leases, LEASE);
    if (lease === undefined) {
      await client.create(leases, {
        metadata: LEASE,
        spec: { holderIdentity: "sandbox", acquireTime: times.renewTime, ...times },
      });
    } else await client.update(leases, { ...lease, spec: { ...lease.spec, ...times } });
    return { requeueAfterMs: RENEW_MS };
  };

  const controller = startController({ name: "leader-lease", reconcile: renew, ...options, lastRetryMs: RENEW_MS });
  controller.enqueue(LEASE.name);
  return controller;
}

/** Defines the feature that drains nodes. Without its permissions, no NodeEvacuation starts. */
import { hasEnded } from "../kube/node-evacuation.ts";
import { type Feature, grant, type Examined } from "../settings/feature.ts";
import { type Finding, ok, warning } from "../settings/finding.ts";
import { MAINTENANCE_MESSAGES as MESSAGES } from "./messages.ts";

const VMS = "subresources.kubevirt.io/virtualmachines";

export const maintenance = {
  name: "maintenance",
  about:
    "drains nodes with NodeEvacuations and RollingMaintenances: cordons nodes, and restarts or stops VMs on request",
  gates: [],
  manifests: ["maintenance"],
  permissions: [
    grant("create", "lifeboat.dev/nodeevacuations", "no node of a RollingMaintenance is drained"),
    grant("patch", "nodes", "no NodeEvacuation starts: it cannot cordon its node"),
    grant(
      "get",
      "kubevirt.io/virtualmachines",
      "no NodeEvacuation continues: Lifeboat cannot read the annotations that owners set on VMs",
    ),
    grant(
      "list",
      "storage.k8s.io/volumeattachments",
      "a node counts as drained although volumes might still be attached to it",
    ),
    grant("update", VMS, "VMs that cannot migrate are not restarted", { subresource: "restart" }),
    grant("update", VMS, "VMs that cannot migrate are not stopped", { subresource: "stop" }),
    grant("update", VMS, "VMs that Lifeboat stopped for a maintenance are not started again", { subresource: "start" }),
  ],
  events: [
    "Restarted",
    "Stopped",
    "StartRefused",
    "ShutdownPlanned",
    "MaintenanceStarted",
    "MaintenanceBlocked",
    "MaintenanceCompleted",
    "MaintenanceRefused",
    "MaintenanceExpired",
    "MaintenanceWithdrawn",
    "MaintenanceNodeGone",
    "MaintenanceStopped",
  ],
  examine,
} as const satisfies Feature;

/** Checks the permissions and blockers of the NodeEvacuations that have not ended. */
async function examine(seen: Examined): Promise<readonly Finding[]> {
  const open = (await seen.nodeEvacuations()).filter((ne) => !hasEnded(ne));
  const permissions = await seen.permissions();
  if (open.length === 0) {
    return [ok(permissions.status === "ok" ? MESSAGES.noneOpen : MESSAGES.notInstalled)];
  }
  const blocked = open.filter(({ status }) => status.phase === "Blocked");
  const findings = blocked.map((ne) =>
    warning(MESSAGES.isBlocked(ne), ne.status.message ?? "", `kubectl describe nodeevacuation ${ne.name}`),
  );
  const names = open.map(({ name, status: { phase = "Scheduled" } }) => `${name} (${phase})`).join(", ");
  return [ok(MESSAGES.open(names)), permissions, ...findings];
}

/** Lists what fails without each permission of Lifeboat's accounts. `lifeboat doctor` prints these texts. */

import { grantsOf } from "../../../infra/cli/doctor/permissions.ts";
import { FEATURES } from "../../../shared/features.ts";
import type { Feature } from "../../../shared/settings/feature.ts";

export interface Need {
  /** The path of the manifest, relative to `infra/`. */
  readonly file: string;
  /** The permission as `permissions` returns it: `verb group/resource[/name]`. */
  readonly permission: string;
  readonly without: string;
}

export interface RelaysNeed extends Need {
  readonly refused: string;
}

function of(file: string, rows: readonly (readonly [permission: string, without: string])[]): readonly Need[] {
  return rows.map(([permission, without]) => ({ file, permission, without }));
}

function needsOf(feature: Feature): readonly Need[] {
  return (feature.permissions ?? []).map(({ verb, group, resource, subresource, name, without }) => {
    const permission = `${verb} ${[group, resource, subresource, name].filter(Boolean).join("/")}`;
    return { file: grantsOf(feature), permission, without };
  });
}

// prettier-ignore
export const NEEDS: readonly Need[] = [
  ...of("kubernetes/rbac.yaml", [
    ["get pods",                                                                                 "no eviction can be decided: the webhook's `failurePolicy` decides"],
    ["list pods",                                                                                "no VM leaves a node under pressure"],
    ["list pods",                                                                                "a pod on a tainted node stays after its deadline, because the taint manager does not try again"],
    ["get nodes",                                                                                "an evacuation continues after the drain taint is gone"],
    ["get nodes",                                                                                "a pod on a tainted node stays after its deadline, because the taint manager does not try again"],
    ["list nodes",                                                                               "no full scan runs, so no drain taint is seen"],
    ["list nodes",                                                                               "no full scan runs, so no node pressure is seen"],
    ["create events",                                                                            "no Event reports an evacuation"],
    ["list events",                                                                              "nothing says why a policy refuses a target pod, or why a target pod does not start"],
    ["get kubevirt.io/virtualmachineinstances",                                                  "no eviction can be decided: the webhook's `failurePolicy` decides"],
    ["list kubevirt.io/virtualmachineinstances",                                                 "no full scan runs, so VMs whose evacuationNodeName KubeVirt has set are not found"],
    ["get lifeboat.dev/evacuations",                                                             "if two requests start the same evacuation, the second one cannot read and join it"],
    ["list lifeboat.dev/evacuations",                                                            "no eviction can be decided: the webhook's `failurePolicy` decides"],
    ["create lifeboat.dev/evacuations",                                                          "no object says why a VM has to move and how its evacuation proceeds"],
    ["patch lifeboat.dev/evacuations",                                                           "evacuations of VMs continue after their NodeEvacuation is withdrawn"],
    ["delete lifeboat.dev/evacuations",                                                          "ended Evacuations are never deleted"],
    ["patch lifeboat.dev/evacuations/status",                                                    "no evacuation ends"],
    ["list lifeboat.dev/nodeevacuations",                                                        "no node is drained for its maintenance"],
    ["delete lifeboat.dev/nodeevacuations",                                                      "ended NodeEvacuations of the command are never deleted"],
    ["patch lifeboat.dev/nodeevacuations/status",                                                "no NodeEvacuation starts, or shows its progress"],
    ["list lifeboat.dev/rollingmaintenances",                                                    "no RollingMaintenance starts"],
    ["delete lifeboat.dev/rollingmaintenances",                                                  "ended RollingMaintenances of the command are never deleted"],
    ["patch lifeboat.dev/rollingmaintenances/status",                                            "no RollingMaintenance starts, or shows its progress"],
    ["list kubevirt.io/virtualmachineinstancemigrations",                                        "no migration is found, so no evacuation continues"],
    ["create kubevirt.io/virtualmachineinstancemigrations",                                      "VMs move only if KubeVirt itself migrates VMs with an evacuationNodeName"],
    ["patch kubevirt.io/virtualmachineinstancemigrations",                                       "a retry waits for KubeVirt's own back-off"],
    ["delete kubevirt.io/virtualmachineinstancemigrations",                                      "a cancelled evacuation leaves its pending migration"],
    ["list kubevirt.io/kubevirts",                                                               "the cluster's eviction strategy is unknown: the webhook's `failurePolicy` decides"],
    ["get policy/poddisruptionbudgets",                                                          "a refused eviction creates no budget for the VM: the VM's next reconcile or the next full scan creates the budget"],
    ["list policy/poddisruptionbudgets",                                                         "Lifeboat does not know which VMs have budgets, and creates none"],
    ["create policy/poddisruptionbudgets",                                                       "VMs have no budget: while Lifeboat is down, a drain stops them"],
    ["patch policy/poddisruptionbudgets",                                                        "a budget that was changed, or made by an earlier version, stays as it is: while its VM migrates, one of the VM's two pods can be evicted"],
    ["delete policy/poddisruptionbudgets",                                                       "a budget that is no longer needed stays, and a drain waits, although the drain is allowed to shut down the VM"],
    ["get admissionregistration.k8s.io/validatingwebhookconfigurations/virt-api-validator",      "budgets are created although KubeVirt's webhook makes them unnecessary"],
    ["get admissionregistration.k8s.io/mutatingwebhookconfigurations/lifeboat-guard",            "budgets are created although KubeVirt's webhook makes them unnecessary"],
    ["get admissionregistration.k8s.io/validatingadmissionpolicybindings/lifeboat-hold-preemption", "no condition says whether the guard protects VMs while Lifeboat is unavailable"],
    ["get admissionregistration.k8s.io/validatingadmissionpolicybindings/lifeboat-hold-taints", "no condition says whether the guard protects VMs while Lifeboat is unavailable"],
    ["get admissionregistration.k8s.io/validatingadmissionpolicybindings/lifeboat-hold-node-end", "no condition says whether the guard protects VMs while Lifeboat is unavailable"],
    ["get admissionregistration.k8s.io/validatingadmissionpolicybindings/lifeboat-launchers", "no condition says whether the guard protects VMs while Lifeboat is unavailable"],
    ["get admissionregistration.k8s.io/validatingwebhookconfigurations/lifeboat",                "no condition reports that the webhook is gone, or leads to another address"],
    ["get lifeboat.dev/lifeboatconfigurations/lifeboat",                                         "the configuration is unknown: the webhook's `failurePolicy` decides"],
    ["patch lifeboat.dev/lifeboatconfigurations/status/lifeboat",                                "errors in the configuration are not reported"],
    ["list pods",                                                                                "no drain can be forecast"],
    ["list nodes",                                                                               "no drain can be forecast"],
    ["get kubevirt.io/virtualmachineinstances",                                                  "no drain can be forecast"],
    ["list kubevirt.io/virtualmachineinstances",                                                 "no drain can be forecast"],
    ["list lifeboat.dev/evacuations",                                                            "no drain can be forecast"],
    ["list kubevirt.io/kubevirts",                                                               "no drain can be forecast"],
    ["get lifeboat.dev/lifeboatconfigurations/lifeboat",                                         "no drain can be forecast"],
    ["list persistentvolumes",                                                                   "a drain is forecast without the volumes' nodes, and its verdict is `Unknown`"],
    ["list resourcequotas",                                                                      "a drain is forecast without quotas, and its verdict is `Unknown`"],
    ["list policy/poddisruptionbudgets",                                                         "a drain is forecast without budgets, and its verdict is `Unknown`"],
    ["list kubevirt.io/virtualmachineinstancemigrations",                                        "a drain is forecast without migrations, and its verdict is `Unknown`"],
    ["create authentication.k8s.io/tokenreviews",                                                "nobody can sign in to the page"],
    ["create authorization.k8s.io/subjectaccessreviews",                                         "nobody can sign in to the page"],
    ["create pods/eviction",                                                                     "no VM gets an evacuationNodeName, unless KubeVirt's webhook reviews an eviction of the VM's pod"],
    ["create pods/eviction",                                                                     "no pod is descheduled: every eviction is refused"],
    ["patch kubevirt.io/virtualmachineinstances",                                                "urgent VMs have no label for a MigrationPolicy, and no VM gets the label of the shield"],
    ["update subresources.kubevirt.io/virtualmachineinstances/evacuate",                         "evacuationNodeName is not removed from VMIs"],
    ["update subresources.kubevirt.io/virtualmachineinstances/evacuate/cancel",                  "evacuationNodeName is not removed from VMIs"],
  ]),
  ...FEATURES.flatMap(needsOf),
];

type RelaysRow = readonly [permission: string, without: string, refused: string];

function ofRelay(rows: readonly RelaysRow[]): readonly RelaysNeed[] {
  return rows.map(([permission, without, refused]) => {
    return { file: "relay/kubernetes/rbac.yaml", permission, without, refused };
  });
}

// prettier-ignore
export const RELAYS_NEEDS: readonly RelaysNeed[] = ofRelay([
  ["list pods",                                            "disruptions of pods are not reported",        "pods"],
  ["watch pods",                                           "disruptions of pods are reported late",       "pods"],
  ["list nodes",                                           "taints and pressure are not reported",        "nodes"],
  ["watch nodes",                                          "taints and pressure are reported late",       "nodes"],
  ["list events",                                          "pods that a kubelet ends are not reported",   "events-evicted"],
  ["watch events",                                         "pods that a kubelet ends are reported late",  "events-evicted"],
  ["list kubevirt.io/virtualmachineinstances",             "new VMs wait for the next full scan",         "virtualmachineinstances"],
  ["watch kubevirt.io/virtualmachineinstances",            "new VMs are reported late",                   "virtualmachineinstances"],
  ["list kubevirt.io/virtualmachineinstancemigrations",    "the end of a migration is not reported",      "virtualmachineinstancemigrations"],
  ["watch kubevirt.io/virtualmachineinstancemigrations",   "the end of a migration is reported late",     "virtualmachineinstancemigrations"],
  ["list lifeboat.dev/evacuations",                        "Evacuations that people create or cancel wait up to a minute", "evacuations"],
  ["watch lifeboat.dev/evacuations",                       "Evacuations that people create or cancel are reported late", "evacuations"],
  ["list lifeboat.dev/nodeevacuations",                    "NodeEvacuations wait up to a minute",            "nodeevacuations"],
  ["watch lifeboat.dev/nodeevacuations",                   "NodeEvacuations are reported late",          "nodeevacuations"],
  ["list lifeboat.dev/rollingmaintenances",                "RollingMaintenances wait up to a minute",        "rollingmaintenances"],
  ["watch lifeboat.dev/rollingmaintenances",               "RollingMaintenances are reported late",      "rollingmaintenances"],
]);

const SERVER = "server/kubernetes/component/rbac.yaml";

/** The permissions that the in-cluster server needs. The server watches the same objects as the relay. */
// prettier-ignore
export const SERVERS_NEEDS: readonly Need[] = [
  ...of(SERVER, [
    ["get secrets/lifeboat-server",            "no replica finds its certificate and its tokens, so no replica answers"],
    ["get coordination.k8s.io/leases/lifeboat-server",   "no replica does the work of every minute"],
    ["patch coordination.k8s.io/leases/lifeboat-server", "no replica does the work of every minute"],
  ]),
  ...of(SERVER, ["list", "watch"].map((verb) => [`${verb} policy/poddisruptionbudgets`, "each review and each reconcile reads the VM's budget with a request of its own"] as const)),
  ...of(SERVER, RELAYS_NEEDS.map(({ permission, without }) => [permission, without] as const)),
];

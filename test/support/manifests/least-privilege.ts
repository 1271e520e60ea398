/** What each single permission is for: what no longer works without it, how that shows, and the request that is then refused. */
import * as shown from "./consequences.ts";
import type { Deed } from "./deeds.ts";

interface Permitted {
  /** Below `infra/`. */
  readonly file: string;
  /** `verb group/resource[/name]`, as `permissions` says it. */
  readonly permission: string;
  /** What does not work without it. */
  readonly without: string;
}

export interface Need extends Permitted {
  /** What Lifeboat then tries in vain. Never what only asks whether it may (readyz): that needs a right for nothing else. */
  readonly deed: Deed;
  /** Whether what `without` says has come about. */
  readonly shown: shown.Consequence;
  /** The one request that the API server refuses; NAME stands for a name that is not known beforehand. */
  readonly refused: string;
}

export interface RelaysNeed extends Permitted {
  /** The watch that does not come about. */
  readonly refused: string;
}

/** Of the server in the cluster, besides what it watches as the relay does. */
export interface ServersNeed extends Permitted {
  readonly deed: "keep certificate and webhooks" | "hold the Lease";
}

type Row = readonly [permission: string, without: string, shown: shown.Consequence, deed: Deed, refused: string];

function of(file: string, rows: readonly Row[]): readonly Need[] {
  return rows.map(([permission, without, consequence, deed, refused]) => {
    return { file, permission, without, shown: consequence, deed, refused };
  });
}

const VMIS = "/apis/kubevirt.io/v1/virtualmachineinstances";
const VMI = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
const CANCEL = "/apis/subresources.kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web/evacuate/cancel";
const MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations";
const BUDGETS = "/apis/policy/v1/namespaces/apps/poddisruptionbudgets";
const EVACUATIONS = "/apis/lifeboat.dev/v1alpha1/namespaces/apps/evacuations";
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/lifeboat-system/leases";
const OWN = "/api/v1/namespaces/lifeboat-system/configmaps";
const CONFIGURATION = "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations/lifeboat";
const PODS = "/api/v1/namespaces/apps/pods";
const POD = `${PODS}/virt-launcher-web-abcde`;
const EVENTS = "/api/v1/namespaces/apps/events";
const PLUGIN = "/apis/plugin.kubevirt.io/v1alpha1/plugins/lifeboat-shield";
const NODE = "/api/v1/nodes/node01";

// prettier-ignore
export const NEEDS: readonly Need[] = [
  ...of("kubernetes/rbac.yaml", [
    ["get pods",                                                                            "no eviction can be decided: the webhook's `failurePolicy` decides",            shown.unanswered,       "evict",                        `GET ${POD}`],
    ["list pods",                                                                           "node pressure is not relieved",                                                shown.notMarked,        "relieve a node",               "GET /api/v1/pods"],
    ["list pods",                                                                           "a pod that the taint manager gave up on stays past its deadline",              shown.podStays,         "finish a deletion",            `GET ${PODS}`],
    ["get nodes",                                                                           "the page cannot cancel an evacuation",                                         shown.stillMarked,      "cancel",                       `GET ${NODE}`],
    ["get nodes",                                                                           "an evacuation goes on after the drain taint is gone",                          shown.notEnded,         "notice that a taint has gone", `GET ${NODE}`],
    ["get nodes",                                                                           "a pod that the taint manager gave up on stays past its deadline",              shown.podStays,         "finish a deletion",            `GET ${NODE}`],
    ["list nodes",                                                                          "no full scan: a drain taint is not seen",                                      shown.noEvacuation,     "empty a tainted node",         "GET /api/v1/nodes"],
    ["list nodes",                                                                          "no full scan: node pressure is not seen",                                      shown.notMarked,        "relieve a node",               "GET /api/v1/nodes"],
    ["create events",                                                                       "no Event tells of an evacuation",                                              shown.untold,           "evict",                        "POST /api/v1/namespaces/apps/events"],
    ["get kubevirt.io/virtualmachineinstances",                                             "no eviction can be decided: the webhook's `failurePolicy` decides",                               shown.unanswered,        "evict",                        `GET ${VMI}`],
    ["list kubevirt.io/virtualmachineinstances",                                            "no full scan: VMs that KubeVirt has marked are not found",                     shown.noEvacuation,     "take over a mark",             `GET ${VMIS}`],
    ["get lifeboat.dev/evacuations",                                                        "of two functions that begin the same evacuation, one cannot name the other's", shown.notJoined,        "join an evacuation",           `GET ${EVACUATIONS}/NAME`],
    ["list lifeboat.dev/evacuations",                                                       "no eviction can be decided: the webhook's `failurePolicy` decides",                               shown.unanswered,        "evict",                        `GET ${EVACUATIONS}`],
    ["create lifeboat.dev/evacuations",                                                     "no object says why a VM is marked and how its evacuation goes",                shown.noEvacuation,     "evict",                        `POST ${EVACUATIONS}`],
    ["patch lifeboat.dev/evacuations",                                                      "the page cannot cancel an evacuation",                                         shown.stillMarked,      "cancel",                       `PATCH ${EVACUATIONS}/web`],
    ["delete lifeboat.dev/evacuations",                                                     "ended Evacuations are never deleted",                                          shown.stillEvacuation,  "forget an evacuation",         `DELETE ${EVACUATIONS}/web`],
    ["patch lifeboat.dev/evacuations/status",                                               "no evacuation ends",                                                           shown.notEnded,         "end an evacuation",            `PATCH ${EVACUATIONS}/web/status`],
    ["list kubevirt.io/virtualmachineinstancemigrations",                                   "no migration is found, so no evacuation goes on",                              shown.anonymous,        "adopt a migration",            `GET ${MIGRATIONS}`],
    ["create kubevirt.io/virtualmachineinstancemigrations",                                 "VMs move only where KubeVirt itself migrates marked VMs",                      shown.notMigrated,      "evict",                        `POST ${MIGRATIONS}`],
    ["patch kubevirt.io/virtualmachineinstancemigrations",                                  "KubeVirt's own migrations do not say their cause",                             shown.anonymous,        "adopt a migration",            `PATCH ${MIGRATIONS}/pending`],
    ["delete kubevirt.io/virtualmachineinstancemigrations",                                 "a cancel leaves the pending migration",                                        shown.stillPending,     "cancel a pending migration",   `DELETE ${MIGRATIONS}/pending`],
    ["list kubevirt.io/kubevirts",                                                          "the cluster's strategy is unknown: the webhook's `failurePolicy` decides",                   shown.unanswered,        "evict",                        "GET /apis/kubevirt.io/v1/kubevirts"],
    ["get policy/poddisruptionbudgets",                                                     "a VM whose eviction is refused has no budget until a full scan",               shown.noBudget,         "refuse",                       `GET ${BUDGETS}/NAME`],
    ["list policy/poddisruptionbudgets",                                                    "Lifeboat does not know which VMs have budgets, and creates none",              shown.noBudget,         "create a budget",              `GET ${BUDGETS}`],
    ["create policy/poddisruptionbudgets",                                                  "VMs have no budget: while Lifeboat is down, a drain stops them",               shown.drainStopsIt,     "create a budget",              `POST ${BUDGETS}`],
    ["delete policy/poddisruptionbudgets",                                                  "a VM that may be shut down keeps its budget",                                  shown.stillBudget,      "delete a budget",              `DELETE ${BUDGETS}/NAME`],
    ["get admissionregistration.k8s.io/validatingwebhookconfigurations/virt-api-validator", "budgets are created where KubeVirt's webhook makes them unnecessary",          shown.stillBudget,      "do without budgets",           `GET ${WEBHOOKS}/virt-api-validator`],
    ["get admissionregistration.k8s.io/validatingwebhookconfigurations/lifeboat-guard",     "budgets are created where KubeVirt's webhook makes them unnecessary",          shown.stillBudget,      "do without budgets",           `GET ${WEBHOOKS}/lifeboat-guard`],
    ["get admissionregistration.k8s.io/validatingwebhookconfigurations/lifeboat",           "it is not noticed that the webhook is gone, or leads elsewhere",               shown.webhookUnseen,    "report on the configuration",  `GET ${WEBHOOKS}/lifeboat`],
    ["get lifeboat.dev/lifeboatconfigurations/lifeboat",                                    "the configuration is unknown: the webhook's `failurePolicy` decides",                        shown.unanswered,        "evict",                        `GET ${CONFIGURATION}`],
    ["patch lifeboat.dev/lifeboatconfigurations/status/lifeboat",                           "errors in the configuration are not reported",                                 shown.noConditions,     "report on the configuration",  `PATCH ${CONFIGURATION}/status`],
    ["list pods",                                                                           "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          "GET /api/v1/pods"],
    ["list nodes",                                                                          "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          "GET /api/v1/nodes"],
    ["get kubevirt.io/virtualmachineinstances",                                             "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          "GET /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/db"],
    ["list kubevirt.io/virtualmachineinstances",                                            "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          `GET ${VMIS}`],
    ["list lifeboat.dev/evacuations",                                                       "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          "GET /apis/lifeboat.dev/v1alpha1/evacuations"],
    ["list kubevirt.io/kubevirts",                                                          "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          "GET /apis/kubevirt.io/v1/kubevirts"],
    ["get lifeboat.dev/lifeboatconfigurations/lifeboat",                                    "no drain is judged beforehand",                                                  shown.untellable,       "look before a drain",          `GET ${CONFIGURATION}`],
    ["list persistentvolumes",                                                              "a drain is judged without the volumes' nodes, and is `Unknown`",                 shown.volumesUnknown,   "look before a drain",          "GET /api/v1/persistentvolumes"],
    ["list resourcequotas",                                                                 "a drain is judged without quotas, and is `Unknown`",                             shown.quotasUnknown,    "look before a drain",          "GET /api/v1/resourcequotas"],
    ["list policy/poddisruptionbudgets",                                                    "a drain is judged without budgets, and is `Unknown`",                            shown.budgetsUnknown,   "look before a drain",          "GET /apis/policy/v1/poddisruptionbudgets"],
    ["list kubevirt.io/virtualmachineinstancemigrations",                                   "a drain is judged without migrations, and is `Unknown`",                         shown.migrationsUnknown,"look before a drain",          `GET ${MIGRATIONS}`],
    ["create authentication.k8s.io/tokenreviews",                                           "nobody can sign in to the page, but through Cloudflare Access",                  shown.notSignedIn,      "sign in",                      "POST /apis/authentication.k8s.io/v1/tokenreviews"],
    ["create authorization.k8s.io/subjectaccessreviews",                                    "nobody can sign in to the page, but through Cloudflare Access",                  shown.notSignedIn,      "sign in",                      "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"],
    ["create pods/eviction",                                                                "no VM is marked, unless KubeVirt's webhook reviews an eviction of it",           shown.notMarked,        "relieve a node",               `POST ${POD}/eviction`],
    ["create pods/eviction",                                                                "no pod is descheduled: every eviction is refused",                               shown.podStays,         "evict by policy",              `POST ${POD}/eviction`],
    ["patch kubevirt.io/virtualmachineinstances",                                           "urgent VMs have no label for a MigrationPolicy, and none has the shield's",      shown.notUrgent,        "relieve a node",               `PATCH ${VMI}`],
    ["update subresources.kubevirt.io/virtualmachineinstances/evacuate",                    "no mark is taken back",                                                          shown.stillMarked,      "cancel",                       `PUT ${CANCEL}`],
    ["update subresources.kubevirt.io/virtualmachineinstances/evacuate/cancel",             "no mark is taken back",                                                          shown.stillMarked,      "cancel",                       `PUT ${CANCEL}`],
  ]),
  ...of("kubernetes/optional/descheduler-support/descheduler-support.yaml", [
    ["patch pods", "pods are not annotated as to be evicted by request only", shown.notAnnotated, "annotate a pod", `PATCH ${POD}`],
  ]),
  ...of("kubernetes/optional/descheduling/descheduling.yaml", [
    ["patch pods",                             "no pod that is to be asked only is descheduled", shown.podStays,         "deschedule",     `PATCH ${POD}`],
    ["get configmaps/lifeboat-descheduler",    "there is no policy: no cycle",                              shown.noCycle,          "deschedule",     `GET ${OWN}/lifeboat-descheduler`],
    ["get coordination.k8s.io/leases/lifeboat-descheduling",   "whether another cycle runs is unknown: no cycle", shown.noCycle,          "deschedule",     `GET ${LEASES}/lifeboat-descheduling`],
    ["patch coordination.k8s.io/leases/lifeboat-descheduling", "one cycle in five minutes",              shown.onlyFirstPodGone, "deschedule again", `PATCH ${LEASES}/lifeboat-descheduling`],
    ["create coordination.k8s.io/leases",                      "no cycle as long as there is no Lease", shown.noCycle,          "deschedule",     `POST ${LEASES}`],
  ]),
  ...of("kubernetes/optional/guard/guard.yaml", [
    ["delete pods", "a pod that the taint manager gave up on stays past its deadline", shown.podStays, "finish a deletion", `DELETE ${POD}`],
  ]),
  ...of("kubernetes/optional/shield/shield.yaml", [
    ["list events",                                    "a VM that the shield covers is let go although its shutdown was not refused", shown.letGo,       "renew the shield", `GET ${EVENTS}`],
    ["get plugin.kubevirt.io/plugins/lifeboat-shield", "the shield covers no VM",                                                     shown.notShielded, "shield",           `GET ${PLUGIN}`],
  ]),
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
  ["list lifeboat.dev/evacuations",                        "requests by hand and cancels wait for a tick", "evacuations"],
  ["watch lifeboat.dev/evacuations",                       "requests by hand and cancels are reported late", "evacuations"],
]);

const SERVERS = "server/kubernetes/component/rbac.yaml";

/** Its rules are the relay's, which a test compares. */
export const SERVERS_WATCHES: readonly Permitted[] = RELAYS_NEEDS.map(({ permission, without }) => {
  return { file: SERVERS, permission, without };
});

function ofServer(deed: ServersNeed["deed"], rows: readonly (readonly [permission: string, without: string])[]) {
  return rows.map(([permission, without]): ServersNeed => ({ file: SERVERS, permission, without, deed }));
}

const CONFIGURATIONS = "admissionregistration.k8s.io/validatingwebhookconfigurations";

// prettier-ignore
export const SERVERS_NEEDS: readonly ServersNeed[] = [
  ...ofServer("keep certificate and webhooks", [
    [`patch ${CONFIGURATIONS}/lifeboat`,       "evictions do not reach Lifeboat: the webhook's path and `caBundle` are not written"],
    [`patch ${CONFIGURATIONS}/lifeboat-guard`, "deletions do not reach Lifeboat: the webhook's path and `caBundle` are not written"],
    ["get secrets/lifeboat-server",            "no replica finds its certificate and tokens: none serves"],
    ["patch secrets/lifeboat-server",          "certificate and tokens are neither made nor renewed"],
  ]),
  ...ofServer("hold the Lease", [
    ["get coordination.k8s.io/leases/lifeboat-server",   "no replica ticks"],
    ["patch coordination.k8s.io/leases/lifeboat-server", "no replica ticks"],
  ]),
];

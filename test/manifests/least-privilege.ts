/**
 * What each single permission is for: what no longer works without it, and the request that is then refused.
 * Owns: that table, one row for every permission of every role that is shipped. Does not own: showing that each row is true
 * (least-privilege.test.ts, test/relay/permissions.test.ts), nor the document that prints it (SECURITY.md).
 */

/** Something that Lifeboat does, as the account that is shipped; each is tried with one permission less. */
export type Deed =
  | "readyz"
  | "explain"
  | "list evacuations"
  | "cancel"
  | "cancel a pending migration"
  | "evict"
  | "take over a mark"
  | "create a budget"
  | "grow a budget"
  | "delete a budget"
  | "reserve the first migration"
  | "reserve another migration"
  | "create a migration"
  | "adopt a migration"
  | "finish a deletion"
  | "mark by eviction"
  | "count another evacuation"
  | "annotate a pod"
  | "deschedule"
  | "watch";

export interface Need {
  /** Below `infra/`. */
  readonly file: string;
  /** `verb group/resource[/name]`, as `permissions` says it. */
  readonly permission: string;
  /** What does not work without it. */
  readonly without: string;
  readonly deed: Deed;
  /** The request that the API server then refuses; of a watch, the watches that do not come about. */
  readonly refused: string;
}

type Row = readonly [permission: string, without: string, deed: Deed, refused: string];

function of(file: string, rows: readonly Row[]): readonly Need[] {
  return rows.map(([permission, without, deed, refused]) => ({ file, permission, without, deed, refused }));
}

const VMIS = "/apis/kubevirt.io/v1/virtualmachineinstances";
const VMI = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";
const MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations";
const BUDGETS = "/apis/policy/v1/namespaces/apps/poddisruptionbudgets";
const OWN = "/api/v1/namespaces/lifeboat-system/configmaps";
const POD = "/api/v1/namespaces/apps/pods/virt-launcher-web-abcde";

// prettier-ignore
export const NEEDS: readonly Need[] = [
  ...of("kubernetes/rbac.yaml", [
    ["get pods",                                           "no eviction can be decided on: every one gets 429",          "explain",                     `GET ${POD}`],
    ["list pods",                                          "pods of a VM are not counted: no migration is created",      "readyz",                      "GET /api/v1/pods"],
    ["get nodes",                                          "no cancel, no deadline, no drain taint that goes",           "cancel",                      "GET /api/v1/nodes/node01"],
    ["list nodes",                                         "no full scan: drain taint and pressure are not seen",        "readyz",                      "GET /api/v1/nodes"],
    ["create events",                                      "evacuations are not told",                                   "evict",                       "POST /api/v1/namespaces/apps/events"],
    ["get kubevirt.io/virtualmachineinstances",            "no eviction can be decided on: every one gets 429",          "explain",                     `GET ${VMI}`],
    ["list kubevirt.io/virtualmachineinstances",           "nothing under evacuation is found again",                    "list evacuations",            `GET ${VMIS}`],
    ["patch kubevirt.io/virtualmachineinstances",          "no record: no cause, no back-off, no end",                   "take over a mark",            `PATCH ${VMI}`],
    ["list kubevirt.io/virtualmachineinstancemigrations",  "no limit can be kept: no migration is created",              "readyz",                      "GET /apis/kubevirt.io/v1/virtualmachineinstancemigrations"],
    ["create kubevirt.io/virtualmachineinstancemigrations", "VMs move only where KubeVirt itself migrates marked ones",  "create a migration",          `POST ${MIGRATIONS}`],
    ["patch kubevirt.io/virtualmachineinstancemigrations", "KubeVirt's own migrations do not say for whom they are",     "adopt a migration",           `PATCH ${MIGRATIONS}/pending`],
    ["delete kubevirt.io/virtualmachineinstancemigrations", "a cancel leaves the pending migration",                     "cancel a pending migration",  `DELETE ${MIGRATIONS}/pending`],
    ["list kubevirt.io/kubevirts",                         "the cluster's strategy is unknown: every eviction gets 429", "readyz",                      "GET /apis/kubevirt.io/v1/kubevirts"],
    ["list policy/poddisruptionbudgets",                   "nobody knows which VM has a budget",                         "readyz",                      "GET /apis/policy/v1/poddisruptionbudgets"],
    ["create policy/poddisruptionbudgets",                 "VMs have no budget: with Lifeboat down a drain stops them",  "create a budget",             `POST ${BUDGETS}`],
    ["patch policy/poddisruptionbudgets",                  "no budget grows: no migration is created",                   "grow a budget",               `PATCH ${BUDGETS}/BUDGET`],
    ["delete policy/poddisruptionbudgets",                 "a VM that may be shut down keeps its budget",                "delete a budget",             `DELETE ${BUDGETS}/BUDGET`],
    ["get configmaps/lifeboat",                            "nobody knows what is switched on: nothing is decided",       "readyz",                      `GET ${OWN}/lifeboat`],
    ["get configmaps/lifeboat-slots",                      "no limit can be kept: no migration is created",              "readyz",                      `GET ${OWN}/lifeboat-slots`],
    ["patch configmaps/lifeboat-slots",                    "no migration is created but the first",                      "reserve another migration",   `PATCH ${OWN}/lifeboat-slots`],
    ["get configmaps/lifeboat-counters",                   "evacuations are not counted",                                "readyz",                      `GET ${OWN}/lifeboat-counters`],
    ["patch configmaps/lifeboat-counters",                 "evacuations are not counted but the first",                  "count another evacuation",    `PATCH ${OWN}/lifeboat-counters`],
    ["create configmaps",                                  "no migration is created",                                    "reserve the first migration", `POST ${OWN}`],
  ]),
  ...of("kubernetes/impersonation.yaml", [
    ["impersonate serviceaccounts/kubevirt-apiserver",     "KubeVirt puts every mark back: nothing is evacuated",        "readyz",                      `PATCH ${VMI}`],
  ]),
  ...of("kubernetes/optional/constrained-impersonation.yaml", [
    ["impersonate:serviceaccount authentication.k8s.io/serviceaccounts/kubevirt-apiserver", "the same",                  "readyz",                      `PATCH ${VMI}`],
    ["impersonate-on:serviceaccount:patch kubevirt.io/virtualmachineinstances",             "the same",                  "readyz",                      `PATCH ${VMI}`],
  ]),
  ...of("kubernetes/optional/descheduler-support.yaml", [
    ["patch pods",                                         "pods do not say that they are only to be asked",             "annotate a pod",              `PATCH ${POD}`],
  ]),
  ...of("kubernetes/optional/descheduling.yaml", [
    ["create pods/eviction",                               "nothing is descheduled: every eviction is refused",          "deschedule",                  `POST ${POD}/eviction`],
    ["patch pods",                                         "no evacuation is asked for: nobody would know of it later",  "deschedule",                  `PATCH ${POD}`],
    ["list namespaces",                                    "no cycle whose policy selects namespaces by label",          "deschedule",                  "GET /api/v1/namespaces"],
    ["list persistentvolumeclaims",                        "no cycle whose policy protects storage classes",             "deschedule",                  "GET /api/v1/persistentvolumeclaims"],
    ["get scheduling.k8s.io/priorityclasses",              "no cycle whose policy names a PriorityClass",                "deschedule",                  "GET /apis/scheduling.k8s.io/v1/priorityclasses/important"],
    ["get configmaps/lifeboat-descheduler",                "there is no policy: no cycle",                               "deschedule",                  `GET ${OWN}/lifeboat-descheduler`],
    ["get configmaps/lifeboat-descheduling",               "nobody knows what has been asked for: no cycle",             "deschedule",                  `GET ${OWN}/lifeboat-descheduling`],
    ["patch configmaps/lifeboat-descheduling",             "nothing is descheduled but the first pod",                   "deschedule",                  `PATCH ${OWN}/lifeboat-descheduling`],
  ]),
  ...of("kubernetes/optional/guard.yaml", [
    ["delete pods",                                        "what the taint manager gave up on stays past its deadline",  "finish a deletion",           `DELETE ${POD}`],
  ]),
  ...of("kubernetes/optional/marking-by-eviction.yaml", [
    ["create pods/eviction",                               "with `marking: Evict`, only evictions are marked",           "mark by eviction",            `POST ${POD}/eviction`],
  ]),
  ...of("relay/kubernetes/rbac.yaml", [
    ["list pods",                                          "disruptions of pods are not told",                           "watch",                       "pods"],
    ["watch pods",                                         "disruptions of pods are told late",                          "watch",                       "pods"],
    ["list nodes",                                         "taints and pressure are not told",                           "watch",                       "nodes"],
    ["watch nodes",                                        "taints and pressure are told late",                          "watch",                       "nodes"],
    ["list events",                                        "what a kubelet ends is not told",                            "watch",                       "events-evicted"],
    ["watch events",                                       "what a kubelet ends is told late",                           "watch",                       "events-evicted"],
    ["list kubevirt.io/virtualmachineinstances",           "new VMs wait for the next full scan",                        "watch",                       "virtualmachineinstances"],
    ["watch kubevirt.io/virtualmachineinstances",          "new VMs are told late",                                      "watch",                       "virtualmachineinstances"],
    ["list kubevirt.io/virtualmachineinstancemigrations",  "the end of a migration is not told",                         "watch",                       "virtualmachineinstancemigrations"],
    ["watch kubevirt.io/virtualmachineinstancemigrations", "the end of a migration is told late",                        "watch",                       "virtualmachineinstancemigrations"],
  ]),
];

/**
 * Lists the holders of credentials that an API server knows. Each holder has sentences of SECURITY.md, and requests
 * that prove each sentence.
 */
import {
  event,
  APPS,
  AUTHORIZATION,
  KUBEVIRT,
  LIFEBOAT,
  NEVER_WAS,
  OTHERS,
  OWN,
  budget,
  cancelsEvacuation,
  changesPod,
  changesVmi,
  deletesOtherPod,
  deletesPod,
  evacuation,
  evicts,
  get,
  type Holder,
  merge,
  metadata,
  migration,
  onVm,
  otherNodeChanges,
  ownNodeChanges,
  pathOf,
  post,
  runsImage,
} from "./deeds.ts";

export const ACCOUNT = `system:serviceaccount:${OWN}:lifeboat`;
export const JANE = "jane";
export const all = (...plurals: readonly string[]) => plurals.map(get);
export const grant = (role: string) => `test:${role}`;

export const HOLDERS: readonly Holder[] = [
  {
    of: "service account token ([what each permission is for](infra/kubernetes/rbac.yaml))",
    user: ACCOUNT,
    sentences: [
      [
        "read all pods, nodes, VMIs, Events and PersistentVolumes, also the passwords in their specs",
        all(
          "/api/v1/pods",
          "/api/v1/nodes",
          "/api/v1/events",
          "/api/v1/persistentvolumes",
          `${KUBEVIRT}/virtualmachineinstances`,
        ),
      ],
      ["write any migration, Evacuation and PodDisruptionBudget", [migration, evacuation(), budget]],
      ["**evict any pod that no budget and no webhook protects**", [evicts]],
      [
        "unless `restriction.yaml` is installed, **delete any VMI, by an owner reference to a missing object**, and change its labels, annotations and finalizers",
        [
          changesVmi({ metadata: { ownerReferences: [NEVER_WAS] } }),
          changesVmi({ metadata: { annotations: { a: "b" } } }),
          changesVmi({ metadata: { finalizers: ["example.com/x"] } }),
        ],
      ],
      ["clear any VM's `evacuationNodeName`", [cancelsEvacuation]],
      ["create Events", [event]],
      [
        "learn whether a token is valid, and what any user may do",
        [
          post("/apis/authentication.k8s.io/v1/tokenreviews", {
            apiVersion: "authentication.k8s.io/v1",
            kind: "TokenReview",
            spec: { token: "t" },
          }),
          post(`${AUTHORIZATION}/subjectaccessreviews`, {
            apiVersion: "authorization.k8s.io/v1",
            kind: "SubjectAccessReview",
            spec: { user: "jane", resourceAttributes: { verb: "get", resource: "pods" } },
          }),
        ],
      ],
      [
        "read no Secret, and neither change nor delete a pod",
        [],
        [
          get("/api/v1/secrets"),
          get(pathOf("secrets", "lifeboat-server", OWN)),
          deletesPod,
          changesPod({ metadata: { labels: { a: "b" } } }),
        ],
      ],
    ],
  },
  {
    of: "+ `descheduler-support.yaml`",
    user: ACCOUNT,
    files: ["optional/descheduler-support/descheduler-support.yaml"],
    sentences: [["patch any pod, and so run another image as that pod", [runsImage]]],
  },
  {
    of: "+ `descheduling.yaml`",
    user: ACCOUNT,
    files: ["optional/descheduling/descheduling.yaml"],
    sentences: [
      [
        "create Leases in `lifeboat-system`",
        [
          () => ({
            method: "POST",
            path: `/apis/coordination.k8s.io/v1/namespaces/${OWN}/leases`,
            body: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: metadata(OWN) },
          }),
        ],
        [
          () => ({
            method: "POST",
            path: `/apis/coordination.k8s.io/v1/namespaces/${APPS}/leases`,
            body: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: metadata(APPS) },
          }),
        ],
      ],
    ],
  },
  {
    of: "+ `guard.yaml`",
    user: ACCOUNT,
    files: ["optional/guard/guard.yaml"],
    sentences: [["delete any pod", [deletesPod, deletesOtherPod], [runsImage]]],
  },
  {
    of: "+ `maintenance.yaml`",
    user: ACCOUNT,
    files: ["optional/maintenance/maintenance.yaml"],
    sentences: [
      [
        "cordon, taint, label and annotate any node",
        [() => merge("/api/v1/nodes/node-1", { spec: { taints: [] }, metadata: { labels: { a: "b" } } })],
      ],
      ["**restart and stop any VM**", [onVm("restart"), onVm("stop")]],
      ["list which volume is attached to which node", [get("/apis/storage.k8s.io/v1/volumeattachments")]],
    ],
  },
  {
    of: "+ [`rbac.yaml`](infra/server/kubernetes/component/rbac.yaml), if Lifeboat runs in the cluster",
    user: ACCOUNT,
    files: ["../server/kubernetes/component/rbac.yaml"],
    sentences: [
      [
        "read, but not write, its own Secret, which holds both tokens below and the certificate's key",
        [get(pathOf("secrets", "lifeboat-server", OWN))],
        [() => merge(pathOf("secrets", "lifeboat-server", OWN), { data: {} })],
      ],
      [
        "patch its own Lease",
        [
          () =>
            merge(`/apis/coordination.k8s.io/v1/namespaces/${OWN}/leases/lifeboat-server`, {
              spec: { holderIdentity: "x" },
            }),
        ],
      ],
      [
        "not write a webhook object",
        [],
        [
          () =>
            merge("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/lifeboat", { webhooks: [] }),
        ],
      ],
    ],
  },
  {
    of: "the rows above, with `restriction.yaml`",
    user: ACCOUNT,
    files: [
      "optional/restriction/restriction.yaml",
      "optional/descheduler-support/descheduler-support.yaml",
      "optional/guard/guard.yaml",
      "optional/maintenance/maintenance.yaml",
    ],
    sentences: [
      [
        "change only Lifeboat's two labels of a VMI, and remove one annotation",
        [
          changesVmi({ metadata: { labels: { "lifeboat.dev/shield": "1" } } }),
          changesVmi({ metadata: { annotations: { "kubevirt.io/eviction-source": null } } }),
        ],
        [
          changesVmi({ metadata: { ownerReferences: [NEVER_WAS] } }),
          changesVmi({ metadata: { annotations: { a: "b" } } }),
        ],
      ],
      [
        "change only the descheduler's two annotations of a pod, and delete only VMs' pods",
        [deletesPod],
        [runsImage, deletesOtherPod],
      ],
      [
        "change only a node's cordon, annotation `lifeboat.dev/cordoned-by` and taint `lifeboat.dev/maintenance-pending`",
        ownNodeChanges,
        otherNodeChanges,
      ],
    ],
  },
  {
    of: "the relay's account",
    user: `system:serviceaccount:${OWN}:lifeboat-relay`,
    files: ["../relay/kubernetes/serviceaccount.yaml", "../relay/kubernetes/rbac.yaml"],
    sentences: [
      [
        "list pods, nodes, Events, VMIs, migrations and Evacuations",
        all(
          "/api/v1/pods",
          "/api/v1/nodes",
          "/api/v1/events",
          `${KUBEVIRT}/virtualmachineinstances`,
          `${KUBEVIRT}/virtualmachineinstancemigrations`,
          `${LIFEBOAT}/evacuations`,
        ),
      ],
      ["write nothing and read no Secret", [], [evicts, evacuation(), deletesPod, get("/api/v1/secrets")]],
    ],
  },
  {
    of: "`lifeboat-operator`, bound in a namespace",
    user: JANE,
    files: [grant("lifeboat-operator")],
    sentences: [
      [
        "move any VM there, with only their own user name as requester, and cancel evacuations",
        [evacuation(), evacuation({ requestedBy: JANE }), evacuation({ intent: "Withdrawn" })],
        [evacuation({ requestedBy: "john" }), evacuation({}, OTHERS)],
      ],
    ],
  },
  {
    of: "`view` in a namespace",
    user: JANE,
    files: [grant("view")],
    sentences: [
      [
        "read its Evacuations, which name pods, nodes and the requester",
        [get(`${LIFEBOAT}/namespaces/${APPS}/evacuations`)],
        [get(`${LIFEBOAT}/namespaces/${OTHERS}/evacuations`), evacuation()],
      ],
    ],
  },
];

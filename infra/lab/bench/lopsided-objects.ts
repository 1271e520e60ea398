/** Nodes and pods of the size that they have in a real cluster: five kilobytes for an ordinary pod, more for a launcher. */
import type * as core from "../../sandbox/actors/resources.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { launcherName, type PlannedVm, type Vm } from "./population.ts";
import type { PlannedNode, PlannedPod } from "./lopsided-plan.ts";

const SINCE = "2026-01-01T00:00:00Z";
const DIGEST = "sha256:3f8a00f137a0d2c8a2163a09901e28e2471999fde4efc2f9570b91f1c30acf94";

/** Four launchers and their neighbours ask for three quarters of the memory. */
const ALLOCATABLE = { cpu: "16", memory: "24Gi", pods: "110", "devices.kubevirt.io/kvm": "1k" };

export function nodeOf({ name }: PlannedNode): core.Draft<core.Node> {
  const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubevirt.io/schedulable": "true" };
  const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];
  return {
    metadata: { name, labels },
    spec: {},
    status: {
      capacity: ALLOCATABLE,
      allocatable: ALLOCATABLE,
      conditions: [
        ...pressures.map((type) => ({ type, status: "False", lastTransitionTime: SINCE, lastHeartbeatTime: SINCE })),
        { type: "Ready", status: "True", reason: "KubeletReady", lastTransitionTime: SINCE, lastHeartbeatTime: SINCE },
      ],
      addresses: [
        { type: "InternalIP", address: "10.0.0.17" },
        { type: "Hostname", address: name },
      ],
      images: Array.from({ length: 25 }, (_, image) => ({
        names: [`registry.k8s.io/shop/image-${image}@${DIGEST}`, `registry.k8s.io/shop/image-${image}:v1.${image}.0`],
        sizeBytes: 100_000_000 + image,
      })),
    },
  };
}

type PodSpec = NonNullable<core.Pod["spec"]>;
type Container = PodSpec["containers"][number];

const TOKEN = {
  name: "kube-api-access",
  projected: {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ],
  },
};

const PROBE = { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10, timeoutSeconds: 1 };

const WEB: Container = {
  name: "web",
  image: "registry.k8s.io/shop/web:v1.4.2",
  args: ["--listen=:8080", "--log-format=json", "--config=/etc/web/config.yaml"],
  env: [
    { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    { name: "DATABASE_HOST", value: "postgres.shop.svc.cluster.local" },
    { name: "DATABASE_PASSWORD", valueFrom: { secretKeyRef: { name: "postgres", key: "password" } } },
  ],
  ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  volumeMounts: [
    { name: "config", mountPath: "/etc/web", readOnly: true },
    { name: TOKEN.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
  ],
};

export function podOf({ namespace, name, node, kind }: PlannedPod): core.Draft<core.Pod> {
  const labels = {
    app: kind === "Stuck" ? "stuck" : "web",
    "pod-template-hash": "6d4cf56db6",
    "app.kubernetes.io/part-of": "shop",
  };
  const uid = `6d4cf56d-0000-4000-8000-${namespace.slice("tenant-".length).padStart(12, "0")}`;
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-6d4cf56db6", uid };
  return {
    metadata: { namespace, name, labels, ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] },
    spec: {
      nodeName: node,
      serviceAccountName: "default",
      containers: [WEB],
      volumes: [{ name: "config", configMap: { name: "web", defaultMode: 420 } }, TOKEN],
    },
  };
}

const FOLDERS = ["private", "public", "ephemeral-disks", "container-disks", "libvirt-runtime", "sockets", "hotplug"];
const ARGUMENTS = [
  "--qemu-timeout",
  "300s",
  "--keep-after-failure",
  "--run-as-nonroot",
  "--ovmf-path",
  "/usr/share/OVMF",
];

function compute({ namespace, name }: PlannedVm): Container {
  return {
    name: "compute",
    image: `quay.io/kubevirt/virt-launcher@${DIGEST}`,
    command: ["/usr/bin/virt-launcher-monitor", "--name", name, "--namespace", namespace, ...ARGUMENTS],
    env: [
      { name: "XDG_CACHE_HOME", value: "/var/run/kubevirt-private" },
      { name: "XDG_CONFIG_HOME", value: "/var/run/kubevirt-private" },
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    ],
    resources: {
      requests: { cpu: "500m", memory: "4312Mi", "devices.kubevirt.io/kvm": "1" },
      limits: { "devices.kubevirt.io/kvm": "1" },
    },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] } },
    volumeMounts: FOLDERS.map((folder) => ({ name: folder, mountPath: `/var/run/kubevirt/${folder}` })),
  };
}

export function launcherOf(vm: Vm): core.Draft<core.Pod> {
  const { apiVersion, kind } = kubevirt.virtualMachineInstances;
  const owner = { apiVersion, kind, name: vm.name, uid: vm.uid, controller: true, blockOwnerDeletion: true };
  return {
    metadata: {
      namespace: vm.namespace,
      name: launcherName(vm),
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vm.uid, "vm.kubevirt.io/name": vm.name },
      annotations: {
        "kubevirt.io/domain": vm.name,
        "kubectl.kubernetes.io/default-container": "compute",
        "descheduler.alpha.kubernetes.io/request-evict-only": "",
        "post.hook.backup.velero.io/command": `["/usr/bin/virt-freezer", "--unfreeze", "--name", "${vm.name}"]`,
        "pre.hook.backup.velero.io/command": `["/usr/bin/virt-freezer", "--freeze", "--name", "${vm.name}"]`,
      },
      ownerReferences: [owner],
    },
    spec: {
      nodeName: vm.node,
      containers: [compute(vm)],
      volumes: FOLDERS.map((name) => ({ name, emptyDir: {} })),
      nodeSelector: { "kubernetes.io/os": "linux", "kubevirt.io/schedulable": "true" },
      terminationGracePeriodSeconds: 210,
      hostname: vm.name,
    },
  };
}

/** As a kubelet writes it. */
export function statusOf(kind: PlannedPod["kind"]): NonNullable<core.Pod["status"]> {
  const name = kind === "Launcher" ? "compute" : "web";
  const ready = kind === "Stuck" ? "False" : "True";
  const state =
    kind === "Stuck"
      ? { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } }
      : { running: { startedAt: SINCE } };
  const conditions = [
    ["PodReadyToStartContainers", "True"],
    ["Initialized", "True"],
    ["Ready", ready],
    ["ContainersReady", ready],
    ["PodScheduled", "True"],
  ].map(([type = "", status = ""]) => ({ type, status, lastTransitionTime: SINCE }));
  const image = kind === "Launcher" ? `quay.io/kubevirt/virt-launcher@${DIGEST}` : "registry.k8s.io/shop/web:v1.4.2";
  return {
    phase: "Running",
    hostIP: "10.0.0.17",
    podIP: "10.244.1.17",
    podIPs: [{ ip: "10.244.1.17" }],
    startTime: SINCE,
    qosClass: "Burstable",
    conditions,
    containerStatuses: [
      {
        name,
        image,
        imageID: `registry.k8s.io/shop/web@${DIGEST}`,
        containerID: `containerd://${DIGEST.slice("sha256:".length)}`,
        ready: kind !== "Stuck",
        started: kind !== "Stuck",
        restartCount: kind === "Stuck" ? 211 : 0,
        state,
      },
    ],
  };
}

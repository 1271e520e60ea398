/** Objects as they travel, minimal and valid, to be tweaked. */
export const TIME = "2026-11-20T12:00:00Z";

interface Tweak {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function object(name: string, base: Tweak, { metadata, spec, status }: Tweak) {
  return {
    metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1", ...base.metadata, ...metadata },
    spec: { ...base.spec, ...spec },
    status: { ...base.status, ...status },
  };
}

export const LAUNCHER = "virt-launcher-web-1-x7k2p";

export function pod(tweak: Tweak = {}) {
  const metadata = { namespace: "vms", labels: { "kubevirt.io": "virt-launcher" } };
  return object(LAUNCHER, { metadata, spec: { nodeName: "node01" }, status: { phase: "Running" } }, tweak);
}

export function disrupted(reason = "PreemptionByScheduler", status = "True", lastTransitionTime = TIME) {
  return { phase: "Running", conditions: [{ type: "DisruptionTarget", status, reason, lastTransitionTime }] };
}

export const DELETING = { deletionTimestamp: TIME };

export function vmi(tweak: Tweak = {}) {
  const spec = { evictionStrategy: "LiveMigrate" };
  const status = { phase: "Running", nodeName: "node01", conditions: [{ type: "LiveMigratable", status: "True" }] };
  return object("web-1", { metadata: { namespace: "vms" }, spec, status }, tweak);
}

export function migration(tweak: Tweak = {}) {
  const base = { metadata: { namespace: "vms" }, spec: { vmiName: "web-1" }, status: { phase: "Running" } };
  return object("lifeboat-web-1-1", base, tweak);
}

export function evacuation(tweak: Tweak = {}) {
  const spec = { virtualMachineInstance: { name: "web-1" }, cause: "Operator", intent: "Evacuate" };
  return object("web-1-by-hand", { metadata: { namespace: "vms" }, spec }, tweak);
}

export function node(tweak: Tweak = {}) {
  return object("node01", { status: conditions({ Ready: "True", MemoryPressure: "False" }) }, tweak);
}

export function conditions(statuses: Readonly<Record<string, string>>, lastHeartbeatTime = TIME) {
  return { conditions: Object.entries(statuses).map(([type, status]) => ({ type, status, lastHeartbeatTime })) };
}

export function kubeletEvent(reason: string, tweak: object = {}) {
  const name = `${LAUNCHER}.17`;
  return {
    metadata: { namespace: "vms", name, uid: `uid-of-${name}`, resourceVersion: "1" },
    reason,
    involvedObject: { kind: "Pod", namespace: "vms", name: LAUNCHER, uid: `uid-of-${LAUNCHER}` },
    source: { component: "kubelet", host: "node01" },
    lastTimestamp: TIME,
    count: 1,
    ...tweak,
  };
}

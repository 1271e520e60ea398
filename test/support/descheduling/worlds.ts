/** Creates minimal pods and policies for descheduling cycles. */
import * as fc from "fast-check";
import type { DeschedulerPolicy, EnabledPlugin } from "../../../shared/descheduling/cycle/policy.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import type { Verdict } from "../../../shared/descheduling/plugins/plugin.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { vmi } from "../fixtures.ts";
import { pod } from "./fixtures.ts";

export const REQUEST_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
export const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";

/** Returns the launcher pod of the VMI `name` on node01. An eviction of this pod is only a request. */
export function vmPod(name: string, tweak: Partial<ScheduledPod> = {}): ScheduledPod {
  const { annotations, ...rest } = tweak;
  return pod(`virt-launcher-${name}-x7k2p`, {
    namespace: "apps",
    uid: `pod-${name}`,
    nodeName: "node01",
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": `vmi-${name}` },
    annotations: { "kubevirt.io/domain": name, [REQUEST_ONLY]: "", ...annotations },
    ...rest,
  });
}

export function plainPod(name: string, tweak: Partial<ScheduledPod> = {}): ScheduledPod {
  return { ...vmPod(name), name, labels: { app: name }, annotations: {}, ...tweak };
}

/**
 * Returns an ordinary pod whose eviction is only a request. `inProgress` means that another client has started to evict
 * the pod.
 */
export function requestedPod(name: string, inProgress = false, tweak: Partial<ScheduledPod> = {}): ScheduledPod {
  return plainPod(name, { annotations: { [REQUEST_ONLY]: "", ...(inProgress && { [IN_PROGRESS]: "" }) }, ...tweak });
}

export function vmiOf(
  { namespace, nodeName, uid, annotations }: ScheduledPod,
  tweak: Partial<VmiFacts> = {},
): VmiFacts {
  const name = annotations["kubevirt.io/domain"] ?? "";
  return vmi({ namespace, name, uid: `vmi-${name}`, nodeName, activePods: { [uid]: nodeName }, ...tweak });
}

export type Heard = [pod: string, verdict: Verdict][];

/**
 * Nominates the pods with the given names in this order. Reacts to limits as the plugins of the upstream descheduler
 * do.
 */
export function scripted(names: readonly string[], pods: readonly ScheduledPod[], heard: Heard = []): EnabledPlugin {
  return {
    name: "Scripted",
    extensionPoint: "deschedule",
    *nominate({ evictor }) {
      heard.length = 0;
      const full = new Set<string>();
      for (const name of names) {
        const pod = pods.find((p) => p.name === name || p.annotations["kubevirt.io/domain"] === name);
        if (pod === undefined || full.has(pod.nodeName) || !evictor.filter(pod)) continue;
        const verdict = yield { pod, reason: "told to" };
        heard.push([name, verdict]);
        if (verdict === "TotalLimit") return;
        if (verdict === "NodeLimit") full.add(pod.nodeName);
      }
    },
  };
}

export function policy(plugins: readonly EnabledPlugin[], tweak: Partial<DeschedulerPolicy> = {}): DeschedulerPolicy {
  return {
    limits: {},
    requestTtlSeconds: 600,
    notifyFailures: false,
    messagePrefixes: ["Eviction triggered"],
    profiles: [{ name: "vms", plugins, evictor: () => ({ filter: () => true, preEvictionFilter: () => true }) }],
    ...tweak,
  };
}

const limit = fc.integer({ min: 0, max: 3 });
export const anyLimits = fc.record(
  {
    evictionsTotal: limit,
    evictionsPerNode: limit,
    evictionsPerNamespace: limit,
    evacuationsPerNode: limit,
    evacuationsPerNamespace: limit,
  },
  { requiredKeys: [] },
);

/** The policy of the descheduling benchmark. */
import { STUCK } from "./lopsided-plan.ts";

/** Pods that a cycle requests, whatever the size of the cluster: the limit. */
export const REQUESTED = 20;

/** What becomes of them: pods that never came up go first, for `deschedule` is before `balance`; VMs take the rest. */
export const EXPECTED = { Evicted: STUCK, Background: REQUESTED - STUCK } as const;

/** All of it is made a while before; pods are stuck for longer than this. */
export const AGE_SECONDS = 2 * 24 * 3600;
const LIFE_SECONDS = 24 * 3600;

export const POLICY = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: ${REQUESTED}
maxNoOfPodsEvacuationsPerNode: 2
profiles:
  - name: stuck
    pluginConfig:
      - name: PodLifeTime
        args: {maxPodLifeTimeSeconds: ${LIFE_SECONDS}, labelSelector: {matchLabels: {app: stuck}}}
    plugins:
      deschedule: {enabled: [PodLifeTime]}
  - name: virtual-machines
    pluginConfig:
      - name: DefaultEvictor
        args:
          podProtections: {defaultDisabled: [PodsWithLocalStorage]}
          labelSelector: {matchLabels: {kubevirt.io: virt-launcher}}
          nodeFit: true
      - name: LowNodeUtilization
        args:
          thresholds: {cpu: 30, memory: 30, pods: 30}
          targetThresholds: {cpu: 60, memory: 60, pods: 60}
    plugins:
      balance: {enabled: [LowNodeUtilization]}
`;

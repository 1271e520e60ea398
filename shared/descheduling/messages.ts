/** All messages of descheduling: in Events, about problems of the policy, and in the doctor's findings. */
import { DESCHEDULER_CONFIG_MAP, LIFEBOAT_NAMESPACE } from "../kube/names.ts";

interface By {
  readonly profile: string;
  readonly plugin: string;
  readonly reason?: string | undefined;
}

export const DESCHEDULING_MESSAGES = {
  // Messages of Events
  evicted: "is evicted",
  evacuated: "is evacuated",
  refused: "is not evicted, because the API server or a webhook refused the eviction",
  unanswered: "might be evicted: the API server gave no clear answer",
  nominated: (outcome: string, nodeName: string, { profile, plugin, reason }: By) =>
    `${outcome}; ${profile}/${plugin} chose the pod on node ${nodeName}${reason === undefined ? "" : ` (${reason})`}`,
  triggeredBy: ({ profile, plugin, reason = "" }: By) => `triggered by ${profile}/${plugin}: ${reason}`,

  // Problems of the policy
  noConfigMap: `expected this ConfigMap in namespace ${LIFEBOAT_NAMESPACE}`,
  noKey: `expected this key in ConfigMap ${DESCHEDULER_CONFIG_MAP}`,
  notYaml: (line: number | undefined, reason: string) =>
    `expected YAML, found an error${line === undefined ? "" : ` in line ${line}`}: ${reason}`,
  pluginName: "expected the name of a plugin",
  profileName: "expected the name of the profile",
  eachOnce: "expected each name once",
  notSupported: (supported: readonly string[]) => `not supported by Lifeboat: expected one of ${supported.join(", ")}`,
  otherPoint: (name: string, points: readonly string[]) => `${name} is expected under ${points.join(" or ")}`,
  notConfigured: (name: string) => `${name} is enabled, but missing from pluginConfig: add it there`,
  positive: "expected more than 0",
  messageStart: "expected the start of a message",

  // The doctor
  isValid: "the descheduling policy is valid",
  leftOut: "Lifeboat ignores some plugins of the descheduling policy",
  nothingDescheduled: "Lifeboat's descheduler evicts no pod: its policy is missing or wrong",
} as const;

/** All checks of `lifeboat doctor`, from facts alone. */
import { type Check, type Finding, GROUPS, type Status } from "./check.ts";
import type { Facts } from "./facts.ts";
import { judgeCredentials } from "./judge-credentials.ts";
import { judgeKubernetes } from "./judge-kubernetes.ts";
import { isKubeVirtServed, judgeKubeVirt } from "./judge-kubevirt.ts";
import { isAbsent, judgeLifeboat } from "./judge-lifeboat.ts";
import { judgeRelay } from "./judge-relay.ts";
import { judgeShield } from "./judge-shield.ts";

type Group = Check["group"];

const JUDGES = {
  Kubernetes: judgeKubernetes,
  KubeVirt: judgeKubeVirt,
  Lifeboat: judgeLifeboat,
  Relay: judgeRelay,
  Credentials: judgeCredentials,
  Shield: judgeShield,
} as const satisfies Record<Group, (facts: Facts) => readonly Finding[]>;

export function judge(facts: Facts): readonly Check[] {
  const isElsewhere = isAbsent(facts);
  // In the wrong cluster every other check would fail, too.
  const groups = isElsewhere ? (["Kubernetes", "KubeVirt", "Lifeboat"] as const) : GROUPS;
  const isBare = isElsewhere && !isKubeVirtServed(facts);
  return groups
    .filter((group) => !(isBare && group === "Lifeboat"))
    .flatMap((group) => inGroup(group, JUDGES[group](facts)));
}

export function inGroup(group: Group, findings: readonly Finding[]): readonly Check[] {
  return findings.map((finding) => ({ group, ...finding }));
}

const WORST: readonly Status[] = ["failed", "unread", "warning", "ok"];

export function worstOf(checks: readonly Check[]): Status {
  return WORST.find((status) => checks.some((check) => check.status === status)) ?? "ok";
}

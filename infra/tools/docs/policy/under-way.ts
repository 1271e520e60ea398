/** The table of what an eviction gets while something else is under way with the VM: the answers are what the policy decides. */
import { decideEviction, type EvictionFacts } from "../../../../shared/eviction/decide.ts";
import type { MigrationFacts, PodFacts, VmiFacts } from "../../../../shared/kube/facts.ts";
import { MESSAGE } from "../../../../shared/eviction/messages.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/settings/settings.ts";
import { CREATED_BY_LABEL, COMPONENT_LABEL, DOMAIN_ANNOTATION } from "../../../../shared/kube/names.ts";
import { code, renderTable, sample } from "./tables.ts";

const NOW = new Date(0);
const OTHER_NODE = "other";

function podOf(nodeName: string, component: string, owner?: string): PodFacts {
  return {
    namespace: "ns",
    name: component,
    uid: component,
    phase: "Running",
    nodeName,
    ready: true,
    deleting: false,
    labels: { [COMPONENT_LABEL]: component, [CREATED_BY_LABEL]: "uid" },
    annotations: { [DOMAIN_ANNOTATION]: "name" },
    owners: owner === undefined ? [] : [{ kind: "Pod", name: owner, uid: owner, controller: true }],
  };
}

const launcher = podOf("node", "virt-launcher");
const target = podOf(OTHER_NODE, "virt-launcher");
const volume = podOf(OTHER_NODE, "hotplug-disk", "virt-launcher");
const movable = sample("LiveMigrate", "migratable");
const pinned = { ...sample("LiveMigrateIfPossible", "pinned"), decentralized: "Sends" } as const;
const received: VmiFacts = { ...movable, phase: "Scheduled", decentralized: "Receives" };
const sending: MigrationFacts = {
  namespace: "ns",
  name: "sent",
  uid: "sent",
  resourceVersion: "1",
  vmiName: "name",
  phase: "Synchronizing",
  decentralized: "Sends",
  deleting: false,
  createdAt: 0,
};

type Case = readonly [underWay: string, evicted: string, facts: Partial<EvictionFacts>, meanwhile: string];

const THE_VMS = "the VM's";

const CASES: readonly Case[] = [
  [
    "a workload update of KubeVirt's, for an upgrade or a hotplugged CPU or memory",
    THE_VMS,
    { vmi: { ...movable, isMigrating: true } },
    "its migration is adopted; if it fails, that is a failed attempt. A withdrawal does not delete it",
  ],
  [
    "a volume migration (`updateVolumesStrategy: Migration`)",
    THE_VMS,
    { vmi: { ...movable, isMigrating: true } },
    "the same; the first migration takes the volumes along",
  ],
  [
    "a backup",
    THE_VMS,
    {},
    "KubeVirt's migration of an evacuation aborts it. Any other one waits, and counts as failed after `stuckSeconds`",
  ],
  [
    "a utility volume is attached",
    THE_VMS,
    {},
    "migrations wait until it is detached; KubeVirt fails them after 150 s: a failed attempt",
  ],
  [
    "a migration within the cluster",
    "its target's",
    { pod: target, vmi: { ...movable, isMigrating: true } },
    "the migration continues",
  ],
  [
    "hotplugged volumes",
    "one that holds a volume, also the target's",
    { pod: volume, launcher: target, vmi: { ...movable, isMigrating: true } },
    "the volume goes with its VM",
  ],
  [
    "the VM is sent to another namespace or cluster (`sendTo`)",
    THE_VMS,
    { vmi: { ...movable, isMigrating: true } },
    "that migration is waited for, never counted or deleted: KubeVirt allows no other one beside it. If it fails, KubeVirt evacuates the VM. Blocked if the other end does not answer: its creator can delete it",
  ],
  [
    "the same, not live-migratable, with LiveMigrateIfPossible",
    THE_VMS,
    { vmi: pinned, migrations: [sending] },
    "it is not shut down on the way",
  ],
  [
    "the VM is received from there (`receive`)",
    THE_VMS,
    { vmi: received },
    "nothing is marked until the guest has come",
  ],
];

function answerTo(tweak: Partial<EvictionFacts>): string {
  const request = { username: "", cause: "ApiEviction" } as const;
  const facts = {
    migrations: [],
    pod: launcher,
    vmi: movable,
    evacuations: [],
    request,
    settings: DEFAULT_SETTINGS,
    now: NOW,
  };
  const decision = decideEviction({ ...facts, ...tweak });
  if (decision.verdict === "Allow") return "allowed";
  return decision.message === MESSAGE.EvacuationTriggered(movable) ? "evacuated" : `429 ${code(decision.message)}`;
}

export function underWayTable(): string {
  const rows = CASES.map(([what, evicted, facts, meanwhile]) => [what, evicted, answerTo(facts), meanwhile]);
  return renderTable([["in progress", "pod", "answer", "and then"], ...rows]);
}

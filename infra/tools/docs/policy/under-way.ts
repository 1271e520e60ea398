/** The table of what an eviction gets while something else is under way with the VM: the answers are what the policy decides. */
import { decideEviction, type EvictionFacts } from "../../../../shared/policy/eviction/eviction.ts";
import type { MigrationFacts, PodFacts, VmiFacts } from "../../../../shared/policy/facts.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";
import { CREATED_BY_LABEL, COMPONENT_LABEL, DOMAIN_ANNOTATION } from "../../../../shared/policy/names.ts";
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
    "its migration is adopted: KubeVirt creates no other one beside it, and if it fails that is a failed attempt; it is not deleted when the evacuation is withdrawn",
  ],
  [
    "a volume migration (`updateVolumesStrategy: Migration`)",
    THE_VMS,
    { vmi: { ...movable, isMigrating: true } },
    "as a workload update; whichever migration comes first takes the volumes to where they are to go",
  ],
  [
    "a backup",
    THE_VMS,
    {},
    "KubeVirt's own migration of an evacuation aborts it; one for the descheduler, Lifeboat's or a person's waits for it, and counts as failed after `evacuation.stuckSeconds`",
  ],
  [
    "a utility volume is attached",
    THE_VMS,
    {},
    "every migration waits until it is detached; KubeVirt fails it after 150 s, and that is a failed attempt",
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
    "the VM is sent to another namespace or cluster (`sendTo`; phase Synchronizing until the other end has answered)",
    THE_VMS,
    { vmi: { ...movable, isMigrating: true } },
    "that migration is waited for, never counted or deleted, because KubeVirt allows no other one beside it: once it has succeeded the VM has Moved, once it has failed KubeVirt evacuates the VM. `Blocked` says if the other end cannot be reached; who began it can delete it",
  ],
  [
    "the same, not live-migratable, with LiveMigrateIfPossible",
    THE_VMS,
    { vmi: pinned, migrations: [sending] },
    "it is not shut down on its way",
  ],
  [
    "the VM is received (`receive`; phases WaitingForSync to Scheduled)",
    THE_VMS,
    { vmi: received },
    "its guest still runs at the other end: nothing is marked until it has come, and the migration that brings it counts as no way out",
  ],
];

function answerTo(tweak: Partial<EvictionFacts>): string {
  const request = { username: "", cause: "ApiEviction" } as const;
  const facts = { pod: launcher, vmi: movable, evacuations: [], request, settings: DEFAULT_SETTINGS, now: NOW };
  const decision = decideEviction({ ...facts, ...tweak });
  if (decision.verdict === "Ask") return `asks for ${decision.question}`;
  return decision.verdict === "Allow" ? "allowed" : `429 ${code(decision.message)}`;
}

export function underWayTable(): string {
  const rows = CASES.map(([what, evicted, facts, meanwhile]) => [what, evicted, answerTo(facts), meanwhile]);
  return renderTable([["under way", "pod", "answer", "and then"], ...rows]);
}

/**
 * Clusters in which one pod is evicted: any pod, of any VM, in any state that matters to that.
 * Owns: drawing them, and answering for one as its API server does. Does not own: other answers (canned-cluster.ts).
 */
import * as fc from "fast-check";
import { applyJsonPatch, readJsonPatch } from "../../../infra/sandbox/apiserver/patch/json.ts";
import {
  CANNED_BEGIN,
  CANNED_POD,
  CANNED_VMI,
  list,
  notFound,
  POD,
  type Question,
  questionOf,
} from "./canned-cluster.ts";
import { type Behaviour, json, status, type StubRequest } from "./stub-server.ts";

type Json = Readonly<Record<string, unknown>>;

const HOTPLUG = { namespace: POD.namespace, name: "hp-volume-abcde" };

const node = fc.constantFrom("node01", "node01", "node01", "node02");

const anyEvacuation = fc.record({
  cause: fc.constantFrom("ApiEviction", "DrainTaint", "Preemption"),
  about: fc.constantFrom(CANNED_POD.metadata.uid, CANNED_POD.metadata.uid, "uid-of-another-pod"),
  attempts: fc.nat(4),
  nextAttemptTime: fc.constantFrom(
    undefined,
    "2026-11-20T11:00:00.000Z",
    ...Array<string>(3).fill("2026-11-20T12:01:00.000Z"),
  ),
  phase: fc.constantFrom("Pending", "BackingOff", "Abandoned", "Abandoned", "Withdrawn"),
});

const STRATEGIES = [
  "LiveMigrate",
  "LiveMigrate",
  "LiveMigrateIfPossible",
  "LiveMigrateIfPossible",
  "External",
  "None",
  "Odd",
  undefined,
];
const common = {
  evacuations: fc.array(anyEvacuation, { maxLength: 2 }),
  labelled: fc.boolean(),
};

const anyVmi = fc.record({
  strategy: fc.constantFrom(...STRATEGIES),
  migratable: fc.constantFrom("True", "True", "False"),
  phase: fc.constantFrom(...Array<string>(7).fill("Running"), "Succeeded"),
  nodeName: fc.constantFrom(...Array<string>(7).fill("node01"), "node02", undefined),
  mark: fc.option(node, { nil: undefined, freq: 2 }),
  deleting: fc.constantFrom(...Array<boolean>(7).fill(false), true),
  isThere: fc.constantFrom(...Array<boolean>(7).fill(true), false),
  ...common,
});

/** Marked, and cannot move any more: by chance this comes together too seldom. */
const stuckVmi = fc.record({
  strategy: fc.constant("LiveMigrateIfPossible"),
  migratable: fc.constant("False"),
  phase: fc.constant("Running"),
  nodeName: fc.constant("node01"),
  mark: fc.constant("node01"),
  deleting: fc.constant(false),
  isThere: fc.constant(true),
  ...common,
});

const anyPod = fc.record({
  is: fc.constantFrom(...Array<"launcher">(15).fill("launcher"), "hotplug", "hotplug", "foreign", "nameless"),
  phase: fc.constantFrom(...Array<string>(7).fill("Running"), "Pending", "Failed"),
  createdBy: fc.constantFrom(...Array<string>(7).fill("uid-of-web"), "uid-of-another"),
});

/** Each as often as it is given here: the rare ones are not the more telling ones. */
export const anyCluster = fc.noBias(
  fc.record({
    vmi: fc.oneof({ arbitrary: anyVmi, weight: 8 }, { arbitrary: stuckVmi, weight: 1 }),
    pod: anyPod,
    migrating: fc.constantFrom(false, false, true),
    clusterStrategy: fc.constantFrom(undefined, "LiveMigrate", "External"),
    /** The reconciler, and whether it has made one for this VMI. */
    budget: fc.constantFrom("made", "missing", "off"),
  }),
);

export type Facts = typeof anyCluster extends fc.Arbitrary<infer T> ? T : never;

function vmiOf({ vmi: v }: Facts): Json {
  const deleting = v.deleting ? { deletionTimestamp: "2026-11-20T11:59:59Z" } : {};
  const label = v.labelled ? { "lifeboat.dev/evacuation": "urgent" } : {};
  const { metadata } = CANNED_VMI;
  return {
    ...CANNED_VMI,
    metadata: { ...metadata, ...deleting, labels: { ...metadata.labels, ...label } },
    spec: v.strategy === undefined ? {} : { evictionStrategy: v.strategy },
    status: {
      ...CANNED_VMI.status,
      phase: v.phase,
      nodeName: v.nodeName,
      evacuationNodeName: v.mark,
      conditions: [{ type: "LiveMigratable", status: v.migratable, reason: "BecauseOfThis" }],
    },
  };
}

function evacuationsOf({ vmi: { evacuations } }: Facts): readonly Json[] {
  return evacuations.map(({ cause, about, ...status }, i) => ({
    metadata: { namespace: "apps", name: `e${i}`, uid: `e${i}`, resourceVersion: "7" },
    spec: { virtualMachineInstance: { name: "web" }, cause, requestedBy: "admin", pod: { uid: about } },
    status,
  }));
}

function launcherOf({ pod: p }: Facts): Json {
  const labels = {
    "kubevirt.io/created-by": p.createdBy,
    ...(p.is !== "foreign" && { "kubevirt.io": "virt-launcher" }),
  };
  const annotations = p.is === "nameless" ? {} : CANNED_POD.metadata.annotations;
  // Of a hotplug pod it is the other one that is evicted.
  const phase = p.is === "hotplug" ? "Running" : p.phase;
  return {
    ...CANNED_POD,
    metadata: { ...CANNED_POD.metadata, labels, annotations },
    status: { phase },
  };
}

function hotplugOf({ pod: p }: Facts): Json {
  const { name, uid } = CANNED_POD.metadata;
  return {
    ...CANNED_POD,
    metadata: {
      ...HOTPLUG,
      uid: "uid-of-hp",
      resourceVersion: "7",
      labels: { "kubevirt.io": "hotplug-disk" },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
    },
    status: { phase: p.phase },
  };
}

function kubevirtOf({ clusterStrategy }: Facts): Json {
  const configuration = { evictionStrategy: clusterStrategy };
  return {
    metadata: { namespace: "kubevirt", name: "kubevirt", uid: "k", resourceVersion: "7" },
    spec: { configuration },
  };
}

const MIGRATION = {
  metadata: { namespace: "apps", name: "by-hand", uid: "m", resourceVersion: "7" },
  spec: { vmiName: "web" },
  status: { phase: "Running" },
};

function configurationOf({ budget }: Facts): Json {
  const off = { evacuation: false, annotations: "Disabled", disruption: false, pressure: false };
  return {
    metadata: { name: "lifeboat", uid: "c", resourceVersion: "7" },
    spec: { reconcilers: { ...off, budget: budget === "off" ? "Disabled" : "Enabled" } },
  };
}

/** The pod that is evicted. */
export function evictedOf({ pod }: Facts): { readonly namespace: string; readonly name: string } {
  return pod.is === "hotplug" ? HOTPLUG : POD;
}

/** An API server for these facts, on which a patch of the VMI is kept. */
export function answering(facts: Facts): (request: StubRequest) => Behaviour {
  let isMade = facts.budget === "made";
  // As JSON has it: what is undefined is not there.
  let vmi: object = JSON.parse(JSON.stringify(vmiOf(facts)));
  const patched = ({ body }: StubRequest): Behaviour => {
    try {
      vmi = applyJsonPatch(vmi, readJsonPatch(body));
    } catch {
      return status(422, "Invalid");
    }
    return json(vmi);
  };
  const listed = (path: string): Behaviour => {
    return path.endsWith("migrations") && facts.migrating ? list(MIGRATION) : list();
  };
  const answers: Partial<Record<Question, (request: StubRequest) => Behaviour>> = {
    pod: ({ path }) => json(path.endsWith(HOTPLUG.name) ? hotplugOf(facts) : launcherOf(facts)),
    vmi: () => (facts.vmi.isThere ? json(vmi) : notFound),
    configuration: () => json(configurationOf(facts)),
    kubevirt: () => list(kubevirtOf(facts)),
    grow: () => (isMade ? json({}) : notFound),
    create: () => {
      isMade = true;
      return json({}, 201);
    },
    begin: () => CANNED_BEGIN,
    evacuations: () => list(...evacuationsOf(facts)),
    mark: patched,
    event: () => json({}, 201),
    list: ({ path }) => listed(path),
  };
  return (request) => answers[questionOf(request)]?.(request) ?? notFound;
}

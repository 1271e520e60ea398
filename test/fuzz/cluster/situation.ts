/**
 * What a cluster is like when it is looked at: gates, pressures, disruptions, marks, tampered records, odd objects.
 * Owns: making a store so. Does not own: how it answers (store.ts, misbehaviour.ts).
 */
import { FEATURE_GATES } from "../../../shared/policy/settings.ts";
import { at, DESCHEDULER_POLICY, DESCHEDULER_POLICY_TEXT } from "../corpus.ts";
import { isObject, type Json, type JsonObject, mutated, oddJson, oddString } from "../json-mutations.ts";
import type { Random } from "../random.ts";
import { mutatedText } from "../text-mutations.ts";
import type { Store } from "./store.ts";

const featureGates = Object.fromEntries(FEATURE_GATES.map((gate) => [gate, true]));
const CONFIGURATIONS: readonly JsonObject[] = [
  { featureGates },
  { featureGates, reconcilers: { budget: "Enabled" }, evacuation: { adoptSeconds: 0 } },
  { featureGates, marking: "Evict", guard: { mode: "Hold", maxHolds: 0 } },
  { evacuation: { maxAttempts: 1, backoffSeconds: 0, maxBackoffSeconds: 0, adoptSeconds: 0 } },
  { featureGates, guard: { mode: "Deny", deadlineSeconds: { Preemption: 0.5, NoExecuteTaint: 604_800 } } },
  { descheduling: { intervalSeconds: 60 } },
];
const RECORDS: readonly string[] = [
  '{"id":"0000000a","cause":"NoExecuteTaint","requestedBy":"x","node":"node01","podUID":"u","since":"2026-11-20T11:00:00Z","attempts":0}',
  '{"id":"0000000a","cause":"Preemption","requestedBy":"x","node":"node01","since":"2026-11-20T11:59:50Z","attempts":4}',
  '{"id":"0000000b","cause":"DrainTaint","requestedBy":"x","node":"node01","since":"-271821-04-20T00:00:00.000Z","attempts":9007199254740991}',
  '{"id":"0000000b","cause":"ApiEviction","requestedBy":"x","node":"node01","since":"+275760-09-13T00:00:00.000Z","attempts":2000,"notBefore":"2026-11-20T12:01:00Z"}',
  '{"id":"0000000c","cause":"NodePressure","requestedBy":"x","node":"node02","since":"2026-11-20T11:59:00Z","attempts":1,"outcome":"Abandoned"}',
  '{"id":"__proto__"}',
  "null",
];

type Tweak = (store: Store, random: Random) => void;

function child(of: JsonObject, key: string): JsonObject {
  const inner = of[key];
  if (isObject(inner)) return inner;
  const made: JsonObject = {};
  of[key] = made;
  return made;
}

function some(store: Store, resource: string, random: Random): JsonObject {
  const all = store.of(resource);
  return all.length === 0 ? {} : random.pick(all);
}

function addCondition(object: JsonObject, condition: JsonObject): void {
  const status = child(object, "status");
  const conditions = status["conditions"];
  const others = Array.isArray(conditions) ? conditions.filter((c) => at(c, "type") !== condition["type"]) : [];
  status["conditions"] = [...others, condition];
}

const configured: Tweak = (store, random) => {
  const spec = random.pick(CONFIGURATIONS);
  for (const configuration of store.of("lifeboatconfigurations")) {
    configuration["spec"] = random.chance(0.2) ? mutated(spec, random, 1) : spec;
  }
};
/** The example that is shipped, one that lets everything go, or something like them. */
const descheduled: Tweak = (store, random) => {
  const eager = DESCHEDULER_POLICY_TEXT.replace(/hresholds: .*/g, "hresholds: {pods: 3}");
  const text = random.pick([
    DESCHEDULER_POLICY_TEXT,
    eager,
    JSON.stringify(mutated(DESCHEDULER_POLICY, random, random.pick([1, 1, 3]))),
  ]);
  const policy = random.chance(0.9) ? text : mutatedText(text, random);
  const metadata = { namespace: "lifeboat-system", name: "lifeboat-descheduler", uid: "p", resourceVersion: "1" };
  store.of("configmaps").push({ kind: "ConfigMap", metadata, data: { "policy.yaml": policy } });
};
/** As it was before anybody has evicted anything; the corpus was written down in the middle of a drain. */
const untouched: Tweak = (store) => {
  for (const vmi of store.of("virtualmachineinstances")) {
    const metadata = child(vmi, "metadata");
    delete child(vmi, "status")["evacuationNodeName"];
    delete child(metadata, "annotations")["lifeboat.dev/evacuation"];
    delete child(metadata, "labels")["lifeboat.dev/evacuation"];
  }
  store.of("virtualmachineinstancemigrations").length = 0;
};
const recorded: Tweak = (store, random) => {
  const metadata = child(some(store, "virtualmachineinstances", random), "metadata");
  child(metadata, "annotations")["lifeboat.dev/evacuation"] = random.pick(RECORDS);
  child(metadata, "labels")["lifeboat.dev/evacuation"] = random.pick(["normal", "urgent", oddString(random)]);
};
const marked: Tweak = (store, random) => {
  child(some(store, "virtualmachineinstances", random), "status")["evacuationNodeName"] = random.pick([
    "node01",
    "node02",
    "",
  ]);
};
const disrupted: Tweak = (store, random) => {
  const pod = some(store, "pods", random);
  const reason = random.pick(["PreemptionByScheduler", "DeletionByTaintManager", "constructor"]);
  const lastTransitionTime = random.pick(["2026-11-20T11:59:59Z", "2026-11-20T11:00:00Z", "", oddString(random)]);
  addCondition(pod, { type: "DisruptionTarget", status: random.mostly("True", ["False"]), reason, lastTransitionTime });
  if (random.chance(0.5)) child(pod, "metadata")["deletionTimestamp"] = "2026-11-20T12:00:30Z";
};
const pressed: Tweak = (store, random) => {
  addCondition(some(store, "nodes", random), { type: random.pick(["MemoryPressure", "DiskPressure"]), status: "True" });
};
const tainted: Tweak = (store, random) => {
  const key = random.pick(["kubevirt.io/drain", "example.com/a", "node.kubernetes.io/unreachable"]);
  const taint = { key, effect: random.pick(["NoSchedule", "NoExecute", oddString(random)]) };
  child(some(store, "nodes", random), "spec")["taints"] = [taint];
};
const registered: Tweak = (store, random) => {
  const slots = random.pick(["[", "null", "[{}]", '[{"namespace":"vms","name":"lifeboat-web-1"}]', "{}"]);
  for (const map of store.of("configmaps")) {
    if (at(map, "metadata", "name") === "lifeboat-slots") child(map, "data")["slots.json"] = slots;
  }
};
const counted: Tweak = (store, random) => {
  const one = { cause: "Preemption", outcome: "Moved", count: random.pick([1, 2 ** 53 - 1]) };
  const kept = [
    JSON.stringify({ evacuations: [one], counted: ["u/0000000a"] }),
    "{}",
    "null",
    '{"evacuations":[{}],"counted":[]}',
  ];
  const metadata = { namespace: "lifeboat-system", name: "lifeboat-counters", uid: "c", resourceVersion: "1" };
  store.of("configmaps").push({ kind: "ConfigMap", metadata, data: { "counters.json": random.pick(kept) } });
};
const gone: Tweak = (store, random) => {
  const all = store.of(
    random.pick(["pods", "virtualmachineinstances", "configmaps", "poddisruptionbudgets", "kubevirts"]),
  );
  if (all.length > 0) all.splice(random.below(all.length), 1);
};
const migrated: Tweak = (store, random) => {
  const phase = random.pick(["Failed", "Succeeded", "Running", "Pending", ""]);
  child(some(store, "virtualmachineinstancemigrations", random), "status")["phase"] = phase;
};
/** Anything at all, anywhere in an object. */
const odd: Tweak = (store, random) => {
  const all = store.of(random.pick(RESOURCES));
  if (all.length === 0) return;
  const index = random.below(all.length);
  const changed: Json = random.chance(0.95)
    ? mutated(all[index] ?? null, random, random.pick([1, 2, 10]))
    : oddJson(random);
  all[index] = isObject(changed) ? changed : { odd: changed };
};

const RESOURCES: readonly string[] = [
  "pods",
  "pods",
  "virtualmachineinstances",
  "virtualmachineinstances",
  "nodes",
  "virtualmachineinstancemigrations",
  "poddisruptionbudgets",
  "kubevirts",
  "configmaps",
];

const TWEAKS: readonly Tweak[] = [
  recorded,
  marked,
  disrupted,
  pressed,
  tainted,
  registered,
  counted,
  gone,
  migrated,
  odd,
  odd,
];

export function situate(store: Store, random: Random): void {
  if (random.chance(0.5)) untouched(store, random);
  if (random.chance(0.8)) configured(store, random);
  if (random.chance(0.9)) descheduled(store, random);
  for (let i = random.pick([0, 1, 2, 4, 8]); i > 0; i--) random.pick(TWEAKS)(store, random);
}

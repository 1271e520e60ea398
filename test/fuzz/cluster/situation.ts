/**
 * What a cluster is like when it is looked at: gates, pressures, disruptions, marks, evacuations, odd objects.
 * Owns: making a store so. Does not own: how it answers (store.ts, misbehaviour.ts).
 */
import { CAUSES } from "../../../shared/policy/cause.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../../shared/policy/evacuation/phase.ts";
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
    delete child(metadata, "labels")["lifeboat.dev/evacuation"];
  }
  for (const resource of ["virtualmachineinstancemigrations", "evacuations"]) store.of(resource).length = 0;
};
/** At whatever it has come to, for whatever reason, of whatever age. */
const evacuating: Tweak = (store, random) => {
  const evacuation = some(store, "evacuations", random);
  const [spec, status] = [child(evacuation, "spec"), child(evacuation, "status")];
  const times = ["2026-11-20T11:59:50Z", "2026-11-20T12:01:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
  child(evacuation, "metadata")["creationTimestamp"] = random.pick(times);
  spec["cause"] = random.pick(CAUSES);
  spec["deadline"] = random.pick([...times, oddString(random)]);
  if (random.chance(0.2)) spec["intent"] = "Withdrawn";
  if (random.chance(0.3)) spec["inherited"] = { attempts: random.pick([0, 4, 1000]), notBefore: random.pick(times) };
  status["phase"] = random.pick([...ACTIVE_PHASES, ...END_PHASES]);
  status["attempts"] = random.pick([0, 4, 5, 2 ** 31 - 1]);
  status["nextAttemptTime"] = random.pick(times);
  status["completionTime"] = random.pick(times);
  if (random.chance(0.3)) delete status["conditions"];
  if (random.chance(0.2)) delete evacuation["status"];
};
/** Of one pod: a person's, or one that another function has begun at the same time. */
const evacuatedTwice: Tweak = (store, random) => {
  const all = store.of("evacuations");
  const copy = structuredClone(some(store, "evacuations", random));
  const metadata = child(copy, "metadata");
  metadata["name"] = random.pick(["by-hand", "web-00000000-2"]);
  metadata["uid"] = "of-another";
  if (random.chance(0.5)) delete copy["status"];
  if (all.length > 0) all.push(copy);
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
const counted: Tweak = (store, random) => {
  const count = random.pick(["1", String(2 ** 53 - 1), "", "many", oddString(random)]);
  const metadata = { namespace: "lifeboat-system", name: "lifeboat-counters", uid: "c", resourceVersion: "1" };
  store.of("configmaps").push({ kind: "ConfigMap", metadata, data: { "ApiEviction.Moved": count } });
};
const gone: Tweak = (store, random) => {
  const all = store.of(
    random.pick(["pods", "virtualmachineinstances", "evacuations", "poddisruptionbudgets", "kubevirts"]),
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
  "evacuations",
  "poddisruptionbudgets",
  "kubevirts",
  "lifeboatconfigurations",
];

const TWEAKS: readonly Tweak[] = [
  evacuating,
  evacuating,
  evacuatedTwice,
  marked,
  disrupted,
  pressed,
  tainted,
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

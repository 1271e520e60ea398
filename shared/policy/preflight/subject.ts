/** What the eviction of one pod would be about, from what was read for the whole node. */
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../eviction/eviction.ts";
import type { PodFacts, VmiFacts } from "../facts.ts";
import { isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../kube/pod-kind.ts";
import { ofVmi } from "../evacuation/world.ts";
import type { PreflightFacts } from "./facts.ts";

export type Ruling = Exclude<EvictionDecision, { verdict: "Ask" }>;

export interface Ruled {
  readonly vmi?: VmiFacts;
  readonly ruling: Ruling;
}

/** As `kubectl drain` asks: its request is an ordinary eviction. */
const REQUEST = { username: "preflight", cause: "ApiEviction" } as const;

export function ruleOn(pod: PodFacts, f: PreflightFacts): Ruled {
  const owner = launcherOfHotplug(pod);
  const launcher = owner && f.pods.find((p) => p.namespace === pod.namespace && p.name === owner.name);
  const vmi = vmiOf(owner === undefined ? pod : launcher, f);
  const evacuations = vmi === undefined ? [] : ofVmi(f.evacuations, vmi);
  const facts = {
    pod,
    ...(launcher && { launcher }),
    ...(vmi && { vmi }),
    evacuations,
    request: REQUEST,
    settings: f.settings,
    now: f.now,
  };
  return { ...(vmi && { vmi }), ruling: decide(facts, f) };
}

function vmiOf(launcher: PodFacts | undefined, { vmis }: PreflightFacts): VmiFacts | undefined {
  if (launcher === undefined || !isOfLiveVm(launcher)) return undefined;
  const name = vmiNameOf(launcher);
  return vmis.find((vmi) => vmi.name === name && vmi.namespace === launcher.namespace);
}

function decide(facts: EvictionFacts, { migrations }: PreflightFacts): Ruling {
  const ofThis = migrations.filter((m) => m.namespace === facts.vmi?.namespace && m.vmiName === facts.vmi.name);
  const first = decideEviction(facts);
  const decision = first.verdict === "Ask" ? decideEviction({ ...facts, migrations: ofThis }) : first;
  if (decision.verdict === "Ask") throw new Error("the eviction policy asks for what it was told");
  return decision;
}

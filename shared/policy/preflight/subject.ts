/** What the eviction of one pod would be about, from what was read for the whole node. */
import { decideEviction, type EvictionDecision, type EvictionFacts } from "../eviction/eviction.ts";
import type { PodFacts, VmiFacts } from "../facts.ts";
import { isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../kube/pod-kind.ts";
import { ofVmi } from "../evacuation/world.ts";
import type { PreflightFacts } from "./facts.ts";

export interface Ruled {
  readonly vmi?: VmiFacts;
  readonly ruling: EvictionDecision;
}

/** As `kubectl drain` asks: its request is an ordinary eviction. */
const REQUEST = { username: "preflight", cause: "ApiEviction" } as const;

export function ruleOn(pod: PodFacts, f: PreflightFacts): Ruled {
  const owner = launcherOfHotplug(pod);
  const launcher = owner && f.pods.find((p) => p.namespace === pod.namespace && p.name === owner.name);
  const vmi = vmiOf(owner === undefined ? pod : launcher, f);
  const evacuations = vmi === undefined ? [] : ofVmi(f.evacuations, vmi);
  const migrations = f.migrations.filter((m) => m.namespace === vmi?.namespace && m.vmiName === vmi.name);
  const facts: EvictionFacts = {
    pod,
    ...(launcher && { launcher }),
    ...(vmi && { vmi }),
    evacuations,
    migrations,
    request: REQUEST,
    settings: f.settings,
    now: f.now,
  };
  return { ...(vmi && { vmi }), ruling: decideEviction(facts) };
}

function vmiOf(launcher: PodFacts | undefined, { vmis }: PreflightFacts): VmiFacts | undefined {
  if (launcher === undefined || !isOfLiveVm(launcher)) return undefined;
  const name = vmiNameOf(launcher);
  return vmis.find((vmi) => vmi.name === name && vmi.namespace === launcher.namespace);
}

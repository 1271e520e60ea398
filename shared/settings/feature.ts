/**
 * The definition of an optional feature. `shared/features.ts` lists all features, and the rest of the code reads this
 * list.
 */
import type { EventReason, Plan } from "../kube/action.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import type { Right } from "../kube/right.ts";
import type { Finding } from "./finding.ts";
import type { HoldPolicy } from "./holds.ts";
import type { FeatureGate, Settings } from "./settings.ts";
import type { VersionRow } from "./versions.ts";

export interface Feature {
  /** The name for `lifeboat install --with`. Its manifests are in `infra/kubernetes/optional/NAME`. */
  readonly name: string;
  readonly about: string;
  readonly gates: readonly FeatureGate[];
  /** Returns whether the feature is on. Absent: the feature is on if one of its gates is on. */
  readonly isOn?: (settings: Settings) => boolean;
  /** Names of its manifests, in the order in which they are applied. */
  readonly manifests: readonly string[];
  /** The permissions that the manifest NAME.yaml grants, and what does not work without each permission. */
  readonly permissions?: readonly Permission[];
  readonly needs?: VersionRow;
  /** A feature gate of KubeVirt's that has to be on. */
  readonly kubevirtGate?: string;
  /** A warning about work that a Worker without the relay does too late or never. */
  readonly withoutRelay?: string;
  /** Events that only this feature records. */
  readonly events?: readonly EventReason[];
  /** The feature's rules in a reconcile. */
  readonly plan?: (world: never) => Plan;
  /** Describes settings that have no effect, or less than expected. */
  readonly notes?: (settings: Settings) => readonly string[];
  /** The feature's check in `lifeboat doctor`. */
  readonly examine?: (seen: Examined) => Promise<readonly Finding[]>;
}

interface Permission extends Right {
  readonly without: string;
}

/**
 * Makes a permission. `of`: GROUP/RESOURCE, or RESOURCE of the core group. `without`: what does not work without the
 * permission.
 */
export function grant(verb: string, of: string, without: string, more: Partial<Right> = {}): Permission {
  const [resource = "", group = ""] = of.split("/").toReversed();
  return { verb, group, resource, ...more, without };
}

/** Facts that a check may read. A read that fails throws, and the doctor reports it. */
export interface Examined {
  readonly settings: Settings;
  readonly permissions: () => Promise<Finding>;
  readonly nodeEvacuations: () => Promise<readonly NodeEvacuationFacts[]>;
  readonly guardWebhook: () => Promise<object | undefined>;
  readonly kubevirt: () => Promise<
    { readonly name: string; readonly facts: { readonly namespace: string } } | undefined
  >;
  readonly holdPolicies: () => Promise<ReadonlySet<HoldPolicy>>;
  readonly policy: () => Promise<{
    readonly ok: boolean;
    readonly problems: readonly { readonly field: string; readonly message: string }[];
  }>;
}

export function isFeatureOn({ isOn, gates }: Feature, settings: Settings): boolean {
  return isOn?.(settings) ?? gates.some((gate) => settings.featureGates.includes(gate));
}

/** Returns the notes that apply. */
export function applying(notes: readonly (readonly [note: string, applies: boolean])[]): readonly string[] {
  return notes.flatMap(([note, applies]) => (applies ? [note] : []));
}

/** The definition of an optional feature. `shared/features.ts` lists all features, and other code uses that list. */
import type { EventReason, Plan } from "../kube/action.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import type { Right } from "../kube/right.ts";
import type { Finding } from "./finding.ts";
import type { HoldPolicy } from "./holds.ts";
import type { FeatureGate, Settings } from "./settings.ts";
import type { VersionRow } from "./versions.ts";

export interface Feature {
  /**
   * The name in `lifeboat install --with NAME`. The manifests of the feature are in `infra/kubernetes/optional/NAME`.
   */
  readonly name: string;
  readonly about: string;
  readonly gates: readonly FeatureGate[];
  /** Returns true if the feature is on. If absent, the feature is on when one of its feature gates is on. */
  readonly isOn?: (settings: Settings) => boolean;
  /** The manifests, in the order in which they are applied. */
  readonly manifests: readonly string[];
  /** The permissions in the manifest NAME.yaml, and what does not work without each permission. */
  readonly permissions?: readonly Permission[];
  readonly needs?: VersionRow;
  readonly kubevirtGate?: string;
  /** A warning about actions that a Worker without the relay performs too late or never. */
  readonly withoutRelay?: string;
  /** Events that only this feature records. */
  readonly events?: readonly EventReason[];
  readonly plan?: (world: never) => Plan;
  /** Returns notes about settings that have no effect, or less effect than expected. */
  readonly notes?: (settings: Settings) => readonly string[];
  readonly examine?: (seen: Examined) => Promise<readonly Finding[]>;
}

interface Permission extends Right {
  readonly without: string;
}

/**
 * Creates a permission. `of` is GROUP/RESOURCE, or only RESOURCE for the core group. `without` says what does not work
 * without the permission.
 */
export function grant(verb: string, of: string, without: string, more: Partial<Right> = {}): Permission {
  const [resource = "", group = ""] = of.split("/").toReversed();
  return { verb, group, resource, ...more, without };
}

/**
 * The inputs of a check by `lifeboat doctor`. If a read fails, its function throws an error, which the command reports.
 */
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

/** Returns the notes whose `applies` is true. */
export function applying(notes: readonly (readonly [note: string, applies: boolean])[]): readonly string[] {
  return notes.flatMap(([note, applies]) => (applies ? [note] : []));
}

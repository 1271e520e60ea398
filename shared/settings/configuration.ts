/**
 * LifeboatConfiguration: the administrator's settings, merged with settings of the KubeVirt object. The CRD in the
 * cluster can be older or newer than this version of Lifeboat, so Lifeboat leaves out fields that it cannot parse.
 */
import * as z from "zod/mini";
import {
  DEFAULT_SETTINGS,
  FEATURE_GATES,
  type FeatureGate,
  type Field,
  type Fields,
  type OwnSettings,
  SCHEMA,
  type Settings,
  type Values,
} from "./settings.ts";
import { type ConfigProblem, problemsIn } from "./problem.ts";
import type { KubeVirtFacts } from "../kube/schemas/kubevirt.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

function schemaOf(field: Field): z.ZodMiniType {
  switch (field.kind) {
    case "seconds": {
      const expected = MESSAGES.seconds(field.most);
      const number = z.number(expected).check(z.nonnegative(expected), z.maximum(field.most, expected));
      return z._default(number, field.fallback);
    }
    case "count":
      return z._default(z.int(MESSAGES.wholeNumber).check(z.minimum(1, MESSAGES.oneOrMore)), field.fallback);
    case "oneOf":
      return z._default(z.enum(field.values, MESSAGES.oneOf(field.values)), field.fallback);
    case "usernames":
      return z._default(
        z.array(z.string(MESSAGES.username)).check(z.minLength(field.least, MESSAGES.atLeastOneUsername)),
        [...field.fallback],
      );
    case "section":
      return z.prefault(objectOf(field.fields), {});
  }
}

function shapeOf(fields: Fields): Record<string, z.ZodMiniType> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, schemaOf(field)]));
}

function objectOf(fields: Fields): z.ZodMiniType<object> {
  return z.strictObject(shapeOf(fields));
}

const gates = z.lazy(() => z.partialRecord(z.enum(FEATURE_GATES), z.boolean(MESSAGES.trueOrFalse)));

function specOf<F extends Fields>(fields: F): z.ZodMiniType<Values<F> & Gates>;
function specOf(fields: Fields): z.ZodMiniType {
  return z.strictObject({ featureGates: z._default(gates, {}), ...shapeOf(fields) });
}
export const Spec = z.lazy(() => specOf(SCHEMA));

interface Gates {
  readonly featureGates: Partial<Record<FeatureGate, boolean>>;
}

export type ConfigurationSpec = OwnSettings & Gates;

export function defaultConfiguration(): ConfigurationSpec {
  return Spec.parse({});
}

export interface ParsedConfiguration {
  readonly value: ConfigurationSpec;
  readonly problems: readonly ConfigProblem[];
}

/**
 * Parses each field separately. A field with an invalid value gets its default, and an unknown feature gate is off. All
 * other fields still apply, for example after a rollback to an older version.
 */
export function parseConfiguration(spec: unknown): ParsedConfiguration {
  const parsed = Spec.safeParse(spec);
  if (parsed.success) return { value: parsed.data, problems: [] };
  const rest = parsed.error.issues.flatMap(pathsOf).reduce(without, spec);
  const again = Spec.safeParse(rest);
  return {
    value: again.success ? again.data : defaultConfiguration(),
    problems: problemsIn(parsed.error, "spec"),
  };
}

function pathsOf(issue: z.core.$ZodIssue): readonly (readonly PropertyKey[])[] {
  return issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
}

/** Removes the field at the path. A list is removed as a whole. */
function without(value: unknown, [key, ...path]: readonly PropertyKey[]): unknown {
  if (key === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields = Object.entries(value).map(([name, its]) => [name, name === key ? without(its, path) : its] as const);
  return Object.fromEntries(fields.filter(([, its]) => its !== undefined));
}

const NO_KUBEVIRT: KubeVirtFacts = { namespace: "", featureGates: [] };

export function mergeSettings(kubevirt: KubeVirtFacts = NO_KUBEVIRT, own: ConfigurationSpec): Settings {
  const {
    featureGates,
    evictionStrategy,
    drainTaintKey,
    minor: kubevirtMinor,
    toleratesNoExecute: handlerToleratesNoExecute = false,
  } = kubevirt;
  const { featureGates: gates, ...set } = own;
  return {
    ...set,
    ...(evictionStrategy === undefined ? {} : { clusterStrategy: evictionStrategy }),
    // A feature gate is on if the LifeboatConfiguration or the KubeVirt object turns it on.
    featureGates: FEATURE_GATES.filter((gate) => gates[gate] === true || featureGates.includes(gate)),
    drainTaintKey: drainTaintKey ?? DEFAULT_SETTINGS.drainTaintKey,
    evictionsCovered: false,
    isHoldingTaints: false,
    handlerToleratesNoExecute,
    isShieldOn: false,
    ...(kubevirtMinor !== undefined && { kubevirtMinor }),
    limits: { ...DEFAULT_SETTINGS.limits, ...setOf(kubevirt, LIMITS) },
    rendering: { ...DEFAULT_SETTINGS.rendering, ...setOf(kubevirt, RENDERING) },
  };
}

const LIMITS = ["parallelMigrationsPerCluster", "parallelOutboundMigrationsPerNode", "bandwidthPerMigration"] as const;
const RENDERING = ["memoryOvercommit", "cpuAllocationRatio", "overheadRatio", "nodeSelectors"] as const;

function setOf<K extends keyof KubeVirtFacts>(kubevirt: KubeVirtFacts, fields: readonly K[]) {
  const set: Partial<Pick<KubeVirtFacts, K>> = {};
  for (const field of fields) if (kubevirt[field] !== undefined) set[field] = kubevirt[field];
  return set;
}

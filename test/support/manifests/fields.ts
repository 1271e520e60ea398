/** Compares the fields of a kind in the code with the fields in the CRD. Identifies fields by their paths. */
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { Count, Text } from "../../../shared/kube/schemas/fields.ts";

export const BOUNDS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;
export type Bounds = Readonly<Partial<Record<(typeof BOUNDS)[number], number>>>;

export interface Field {
  readonly type: string | undefined;
  readonly isRequired: boolean;
  readonly words: readonly string[] | undefined;
  /** The default, or undefined if a field without a value stays absent. */
  readonly fallback: unknown;
  readonly bounds: Bounds;
}

/** Fields keyed by path, for example `spec.schedule.after`, `status.blockers[].name` or `spec.featureGates{}`. */
export type Fields = ReadonlyMap<string, Field>;

const Schema = z.looseObject({
  type: z.exactOptional(z.string()),
  enum: z.exactOptional(z.array(z.string())),
  required: z.exactOptional(z.array(z.string())),
  get properties() {
    return z.exactOptional(z.record(z.string(), Schema));
  },
  get items() {
    return z.exactOptional(Schema);
  },
  get additionalProperties() {
    return z.exactOptional(Schema);
  },
});
type Schema = z.infer<typeof Schema>;

const Path = z.object({ jsonPath: z.string() });
export const Definition = z.object({
  spec: z.object({
    group: z.string(),
    scope: z.string(),
    names: z.object({ kind: z.string(), plural: z.string(), shortNames: z._default(z.array(z.string()), []) }),
    versions: z.tuple([
      z.object({
        name: z.string(),
        schema: z.object({ openAPIV3Schema: Schema }),
        selectableFields: z._default(z.array(Path), []),
        additionalPrinterColumns: z.array(
          z.object({ ...Path.shape, name: z.string(), type: z.string(), priority: z._default(z.number(), 0) }),
        ),
      }),
    ]),
  }),
});

/** Returns the fields of spec and status. Skips apiVersion, kind and metadata, which the API server defines. */
export function definedFields(definition: z.infer<typeof Definition>): Fields {
  const { required = [], properties = {} } = definition.spec.versions[0].schema.openAPIV3Schema;
  const parts = ["spec", "status"].map((key) => [key, properties[key] ?? {}] as const);
  return new Map(parts.flatMap(([key, its]) => defined(its, key, required.includes(key))));
}

function defined(schema: Schema, path: string, isRequired: boolean): readonly (readonly [string, Field])[] {
  const bounds = Object.fromEntries(BOUNDS.flatMap((bound) => (bound in schema ? [[bound, schema[bound]]] : [])));
  const field = { type: schema.type, isRequired, words: schema.enum, fallback: schema["default"], bounds };
  const children = Object.entries(schema.properties ?? {}).flatMap(([key, its]) =>
    defined(its, `${path}.${key}`, schema.required?.includes(key) ?? false),
  );
  const { items, additionalProperties: values } = schema;
  const inside = [
    ...(items ? defined(items, `${path}[]`, true) : []),
    ...(values ? defined(values, `${path}{}`, true) : []),
  ];
  return [[path, field], ...children, ...inside];
}

const { core } = z;

export function readFields(schema: z.core.$ZodType, path = "", isOptional = false, fallback?: unknown): Fields {
  const inside = (its: z.core.$ZodType, optional = isOptional, value = fallback) =>
    readFields(its, path, optional, value);
  if (schema instanceof core.$ZodLazy) return inside(schema._zod.def.getter());
  if (schema instanceof core.$ZodPipe) {
    const { in: before, out: after } = schema._zod.def;
    return inside(isTransform(after) ? before : after, isOptional || isTransform(before));
  }
  if (mayBeAbsent(schema)) {
    const { def } = schema._zod;
    const value = "defaultValue" in def && !saysNothing(schema, def.defaultValue) ? def.defaultValue : undefined;
    return inside(def.innerType, true, value);
  }
  return new Map([[path, leaf(schema, isOptional, fallback)], ...childrenOf(schema, path)]);
}

type MayBeAbsent = z.core.$ZodOptional | z.core.$ZodNullable | z.core.$ZodDefault | z.core.$ZodPrefault;

function mayBeAbsent(schema: z.core.$ZodType): schema is MayBeAbsent {
  const { $ZodOptional, $ZodNullable, $ZodDefault, $ZodPrefault } = core;
  return [$ZodOptional, $ZodNullable, $ZodDefault, $ZodPrefault].some((one) => schema instanceof one);
}

function isTransform(schema: z.core.$ZodType): boolean {
  return schema instanceof core.$ZodTransform && schema !== Text;
}

/** Returns true if the value means the same as an absent field. */
function saysNothing(schema: z.core.$ZodType, value: unknown): boolean {
  return schema === Count || [{}, [], ""].some((none) => isDeepStrictEqual(value, none));
}

function childrenOf(schema: z.core.$ZodType, path: string): readonly (readonly [string, Field])[] {
  if (schema instanceof core.$ZodArray) return [...readFields(schema._zod.def.element, `${path}[]`)];
  if (schema instanceof core.$ZodRecord) return [...readFields(schema._zod.def.valueType, `${path}{}`)];
  if (!(schema instanceof core.$ZodObject)) return [];
  return Object.entries(schema._zod.def.shape).flatMap(([key, its]) => [
    ...readFields(its, path === "" ? key : `${path}.${key}`),
  ]);
}

function leaf(schema: z.core.$ZodType, isOptional: boolean, fallback: unknown): Field {
  // zod cannot describe the transformation of an optional text.
  if (schema === Text) return { type: "string", isRequired: false, words: undefined, fallback, bounds: {} };
  const json = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  const bounds = Object.fromEntries(
    BOUNDS.flatMap((bound) => {
      const value = json[bound];
      return typeof value === "number" && isSaid(bound, value) ? [[bound, value]] : [];
    }),
  );
  const words = json.enum?.map(String);
  const type = typeof json.type === "string" ? json.type : undefined;
  return { type, isRequired: !isOptional, words, fallback, bounds };
}

/** Returns false for a bound that has no effect: a limit of safe integers, or a minimum length of 0. */
function isSaid(bound: string, value: number): boolean {
  return Math.abs(value) !== Number.MAX_SAFE_INTEGER && !(bound === "minItems" && value === 0);
}

export function differencesOf(code: Field, defined: Field): readonly string[] {
  const isNeeded = code.isRequired && !defined.isRequired && defined.fallback === undefined;
  return [
    ...differing("type", typeOf(code, defined), defined.type),
    ...differing("words", code.words?.toSorted(), defined.words?.toSorted()),
    // A default of `{}` in the CRD only enables the defaults of the inner fields.
    ...differing("default", code.fallback, isDeepStrictEqual(defined.fallback, {}) ? undefined : defined.fallback),
    ...BOUNDS.flatMap((bound) => {
      return bound in code.bounds ? differing(bound, code.bounds[bound], defined.bounds[bound]) : [];
    }),
    ...(isNeeded ? ["the code needs it, but the definition does not require it"] : []),
  ];
}

function differing(what: string, code: unknown, defined: unknown): readonly string[] {
  return isDeepStrictEqual(code, defined)
    ? []
    : [`${what}: the code has ${JSON.stringify(code)}, the definition ${JSON.stringify(defined)}`];
}

/** Returns the type in the code, or the type in the CRD if the code accepts more types. */
function typeOf({ type }: Field, defined: Field): string | undefined {
  return type === undefined || (type === "number" && defined.type === "integer") ? defined.type : type;
}

/** Defines schemas for common fields: metadata, conditions, quantities, and values that Go omits. */
import * as z from "zod/mini";
import { checkSize, checkTexts, LARGEST_FACTS } from "./bounds.ts";

/** Returns a schema of a list that Go can omit or write as null. */
export function listOf<S extends z.ZodMiniType>(item: S) {
  return z.pipe(
    z.nullish(z.array(item)),
    z.transform((list) => list ?? []),
  );
}

/**
 * A text that Go can omit or leave empty. This is not a zod pipe, because a pipe would take a quarter of the parsing
 * time.
 */
export const Text = z.transform((input: unknown, { issues }): string | undefined => textIn(input, issues));

function textIn(input: unknown, issues: Issues): string | undefined {
  if (typeof input === "string") return input || undefined;
  if (input !== undefined && input !== null) issues.push({ code: "invalid_type", expected: "string", input });
  return undefined;
}

export const Count = z._default(z.number(), 0);
export const PhaseText = z._default(z.string(), "");

type Texts = Readonly<Record<string, string>>;
type Issues = z.core.ParsePayload["issues"];

export const Texts = z.transform((input: unknown, { issues }): Texts | undefined => textsIn(input, issues));

function textsIn(input: unknown, issues: Issues): Texts | undefined {
  if (input === undefined || input === null) return undefined;
  if (isTexts(input)) return input;
  const odd = isMap(input) ? Object.entries(input).filter(([, text]) => typeof text !== "string") : [];
  for (const [key, text] of odd) issues.push({ code: "invalid_type", expected: "string", input: text, path: [key] });
  if (odd.length === 0) issues.push({ code: "invalid_type", expected: "record", input });
  return undefined;
}

function isTexts(value: unknown): value is Texts {
  return isMap(value) && Object.values(value).every((text) => typeof text === "string");
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const NONE: Texts = {};

export const TextsOrNone = z.pipe(
  Texts,
  z.transform((map) => map ?? NONE),
);

/** A quantity, which in a custom resource can be a text or a number. */
export const Quantity = z.transform((input: unknown, { issues }): string | undefined => {
  return typeof input === "number" ? String(input) : textIn(input, issues);
});

export const Quantities = z.transform((input: unknown, { issues }): Texts => {
  const written = isMap(input) && !isTexts(input) ? Object.entries(input).map(numberAsText) : undefined;
  return textsIn(written === undefined ? input : Object.fromEntries(written), issues) ?? NONE;
});

function numberAsText([name, value]: [string, unknown]): [string, unknown] {
  return [name, typeof value === "number" ? String(value) : value];
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

export function present<T extends object>(fields: T): Present<T>;
export function present(fields: Readonly<Record<string, unknown>>): object {
  const kept: Record<string, unknown> = {};
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key];
  return kept;
}

/**
 * Returns the schema of a kind. The schema is built at its first use, because building all schemas takes a third of the
 * start-up time.
 */
export function kind<S extends Shape, Facts>(
  shape: () => S,
  facts: (object: z.output<ObjectOf<S>>) => Facts,
  most = LARGEST_FACTS,
) {
  const bounded = z.transform((object: z.output<ObjectOf<S>>, { issues }): Facts => {
    const found = facts(object);
    checkSize(JSON.stringify(found)?.length ?? 0, most, { of: "data in the fields that Lifeboat reads", issues });
    return found;
  });
  return z.lazy(() => z.pipe(z.object(shape()), bounded));
}

export function knownOf(texts: Texts | undefined, keys: readonly string[]): Texts {
  const known = keys.flatMap((key) => {
    const value = texts !== undefined && Object.hasOwn(texts, key) ? texts[key] : undefined;
    return value === undefined ? [] : [[key, value] as const];
  });
  return known.length === 0 ? NONE : Object.fromEntries(known);
}

type Shape = Readonly<Record<string, z.ZodMiniType>>;
type ObjectOf<S extends Shape> = ReturnType<typeof z.object<S>>;

/** Returns a schema of an object that Go can omit. All fields of an omitted object are absent. */
export function part<S extends Shape>(shape: S) {
  return z.pipe(
    z.transform((value: unknown) => value ?? {}),
    z.object(shape),
  );
}

export function isObjectName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name);
}

export const ObjectName = z.string().check(z.refine(isObjectName, "expected the name of an object"));

export const ObjectNamespace = z
  .string()
  .check(z.refine((name) => name === "" || isObjectName(name), "expected the name of a namespace"));

export const Owner = z.lazy(() =>
  z.object({ kind: z.string(), name: z.string(), uid: z.string(), controller: z._default(z.boolean(), false) }),
);

export const Meta = z.lazy(() =>
  z.object({
    namespace: z._default(ObjectNamespace, ""),
    name: ObjectName,
    uid: z.string(),
    resourceVersion: z.string(),
    generation: Count,
    creationTimestamp: Text,
    deletionTimestamp: Text,
    labels: Texts,
    annotations: Texts,
    ownerReferences: listOf(Owner),
  }),
);

export const PodMeta = z.lazy(() =>
  z.pipe(
    Meta,
    z.transform((metadata, { issues }) => {
      checkTexts([metadata.labels, metadata.annotations], issues);
      return metadata;
    }),
  ),
);

type Metadata = z.output<typeof Meta>;

export function identityOf({ namespace, name, uid, resourceVersion, deletionTimestamp }: Metadata) {
  return { namespace, name, uid, resourceVersion, deleting: deletionTimestamp !== undefined };
}

export function createdAt({ creationTimestamp }: Metadata): number {
  return Date.parse(creationTimestamp ?? "") || 0;
}

export const Conditions = z.lazy(() =>
  listOf(z.object({ type: z.string(), status: z.string(), reason: Text, message: Text, lastTransitionTime: Text })),
);
export type Conditions = z.output<typeof Conditions>;

export const Toleration = z.lazy(() =>
  z.pipe(
    z.object({ key: Text, operator: Text, value: Text, effect: Text, tolerationSeconds: z.nullish(z.number()) }),
    z.transform(({ tolerationSeconds, ...rest }) =>
      present({ ...rest, tolerationSeconds: tolerationSeconds ?? undefined }),
    ),
  ),
);

export const Requirement = z.lazy(() =>
  z.object({ key: z.string(), operator: z.string(), values: listOf(z.string()) }),
);

export const Selector = z.lazy(() => z.object({ matchLabels: TextsOrNone, matchExpressions: listOf(Requirement) }));

export const NodeTerm = z.lazy(() =>
  z.object({ matchExpressions: listOf(Requirement), matchFields: listOf(Requirement) }),
);

/** A page of a list. Items are parsed one by one, so that a malformed object does not hide the others. */
export const Page = z.lazy(() =>
  z.object({
    // Without this check, any JSON object would be treated as an empty list.
    kind: z.string("expected a list").check(z.endsWith("List", "expected a list")),
    metadata: part({ continue: Text, resourceVersion: Text, remainingItemCount: z.nullish(z.number()) }),
    items: listOf(z.unknown()),
  }),
);

/** Suffixes of quantities, in steps of 1000 and of 1024. The suffix `""` stands for 1. */
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Parses a quantity in its unit, for example bytes for memory. Returns 0 if the text is absent or malformed. */
export function quantity(text: string | undefined): number {
  return scaled(text, 0);
}

/** Parses a quantity in thousandths and rounds it up. For example, 0.1 CPU is 100. */
export function milliQuantity(text: string): number {
  return Math.ceil(scaled(text, 3));
}

/**
 * Multiplies a quantity by a power of ten without rounding errors. In floating point, 2.007 times 1000 is more than
 * 2007.
 */
function scaled(text: string | undefined, tens: number): number {
  const [, number, exponent = "0", suffix = ""] =
    /^([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+))?([a-zA-Z]*)$/.exec(text ?? "") ?? [];
  const [thousands, factor] = scaleOf(suffix);
  const value = Number(`${number}e${Number(exponent) + 3 * thousands + tens}`) * factor;
  return Number.isFinite(value) ? value : 0;
}

function scaleOf(suffix: string): readonly [thousands: number, factor: number] {
  if (BINARY.includes(suffix)) return [0, 1024 ** (BINARY.indexOf(suffix) + 1)];
  return DECIMAL.includes(suffix) ? [DECIMAL.indexOf(suffix) - DECIMAL.indexOf(""), 1] : [0, Number.NaN];
}

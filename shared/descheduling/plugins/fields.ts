/** Schemas for the values of a policy file. A key with the value null is treated as missing, as in Go. */
import * as z from "zod/mini";
import type { LabelSelector, LabelSelectorRequirement } from "../../kube/facts.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

/** Returns a schema of a mapping that allows only these keys. */
export function mapping<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const withoutNulls = (input: unknown): unknown => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
    return Object.fromEntries(Object.entries(input).filter(([key, v]) => v !== null || !Object.hasOwn(shape, key)));
  };
  return z.pipe(z.transform(withoutNulls), z.strictObject(shape, MESSAGES.mapping));
}

export function listArgument<Item extends z.core.$ZodType>(item: Item, message: string = MESSAGES.list) {
  return z._default(z.array(item, message), []);
}

export const text = (message: string) => z.string(message).check(z.minLength(1, message));

export const flag = (fallback: boolean) => z._default(z.boolean(MESSAGES.trueOrFalse), fallback);
export const optionalFlag = z.exactOptional(z.boolean(MESSAGES.trueOrFalse));

export const CountArgument = z.lazy(() => z.int(MESSAGES.count).check(z.nonnegative(MESSAGES.count)));

const INT32 = MESSAGES.int32;
export const Int32 = z.lazy(() => z.int(INT32).check(z.minimum(-(2 ** 31), INT32), z.maximum(2 ** 31 - 1, INT32)));

/** A duration in Go's format with hours, minutes and seconds. */
const TIMES = /^(?=.)(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?$/;

function secondsOf(text: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = TIMES.exec(text) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

export const Duration = z.lazy(() =>
  z.pipe(z.string(MESSAGES.duration).check(z.regex(TIMES, MESSAGES.duration)), z.transform(secondsOf)),
);

const KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;

function isLabelKey(text: string): boolean {
  return KEY.test(text);
}

function isLabelValue(text: string): boolean {
  return VALUE.test(text);
}

const REQUIREMENT =
  /^(?:! ?(?<absent>[^ =!(),<>]+)|(?<key>[^ =!(),<>]+)(?: ?(?<sign>!=|==?) ?(?<value>[^ =!(),<>]*))?)$/;

/**
 * Parses a label selector in text form. Returns undefined for an invalid selector, and for a set-based selector such as
 * `x in (a,b)`. An empty text selects everything.
 */
export function selectorOf(text: string): LabelSelector | undefined {
  const parts =
    text.trim() === "" ? [] : text.split(",").map((one) => REQUIREMENT.exec(one.trim().replaceAll(/\s+/g, " ")));
  const matchExpressions = parts.flatMap((part) => (part?.groups === undefined ? [] : [requirementOf(part.groups)]));
  const isSelector = matchExpressions.length === parts.length && matchExpressions.every(isValid);
  return isSelector ? { matchLabels: {}, matchExpressions } : undefined;
}

function requirementOf(groups: Readonly<Record<string, string | undefined>>): LabelSelectorRequirement {
  const { absent, key = "", sign, value = "" } = groups;
  if (absent !== undefined) return { key: absent, operator: "DoesNotExist", values: [] };
  if (sign !== undefined) return { key, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  return { key, operator: "Exists", values: [] };
}

function isValid({ key, values }: LabelSelectorRequirement): boolean {
  return isLabelKey(key) && values.every(isLabelValue);
}

export const SelectorText = z.lazy(() =>
  z.pipe(
    z.string(MESSAGES.selector).check(z.refine((value) => selectorOf(value) !== undefined, MESSAGES.selector)),
    z.transform((value) => selectorOf(value) ?? { matchLabels: {}, matchExpressions: [] }),
  ),
);

const LabelKey = z.lazy(() => z.string(MESSAGES.labelKey).check(z.refine(isLabelKey, MESSAGES.labelKey)));
const LabelValue = z.lazy(() => z.string(MESSAGES.labelValue).check(z.refine(isLabelValue, MESSAGES.labelValue)));

const Requirement = z.lazy(() =>
  mapping({
    key: LabelKey,
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"], MESSAGES.operator),
    values: listArgument(LabelValue),
  }).check(
    z.refine(({ operator, values }) => values.length > 0 === operator.endsWith("In"), {
      path: ["values"],
      error: MESSAGES.values,
    }),
  ),
);

export const SelectorArgument: z.ZodMiniType<LabelSelector> = z.lazy(() =>
  mapping({
    matchLabels: z._default(z.record(LabelKey, LabelValue, MESSAGES.labels), {}),
    matchExpressions: listArgument(Requirement),
  }),
);

/**
 * The `include` or `exclude` list of namespaces. Only one of the lists may be used. An empty list is treated as
 * missing.
 */
export const Namespaces = z.lazy(() => {
  const names = z.exactOptional(z.array(text(MESSAGES.namespace), MESSAGES.list));
  return mapping({ include: names, exclude: names }).check(
    z.refine(
      ({ include = [], exclude = [] }) => include.length === 0 || exclude.length === 0,
      MESSAGES.oneOfBoth("include", "exclude"),
    ),
  );
});

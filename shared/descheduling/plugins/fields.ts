/** The kinds of values in a policy file. Go takes null for absent, so a known key may be null anywhere. */
import * as z from "zod/mini";
import type { LabelSelector, LabelSelectorRequirement } from "../../kube/facts.ts";

/** Returns a schema of a mapping with exactly these keys. */
export function mapping<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const withoutNulls = (input: unknown): unknown => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
    return Object.fromEntries(Object.entries(input).filter(([key, v]) => v !== null || !Object.hasOwn(shape, key)));
  };
  return z.pipe(z.transform(withoutNulls), z.strictObject(shape, "expected a mapping"));
}

export function listArgument<Item extends z.core.$ZodType>(item: Item, message = "expected a list") {
  return z._default(z.array(item, message), []);
}

export const text = (message: string) => z.string(message).check(z.minLength(1, message));

const TRUE_OR_FALSE = "expected true or false";
export const flag = (fallback: boolean) => z._default(z.boolean(TRUE_OR_FALSE), fallback);
/** If absent, the code that reads it has the default. */
export const optionalFlag = z.exactOptional(z.boolean(TRUE_OR_FALSE));

const COUNT = "expected a whole number, 0 or more";
export const CountArgument = z.lazy(() => z.int(COUNT).check(z.nonnegative(COUNT)));

const INT32 = "expected a whole number of 32 bits";
export const Int32 = z.lazy(() => z.int(INT32).check(z.minimum(-(2 ** 31), INT32), z.maximum(2 ** 31 - 1, INT32)));

/** Durations in Go's form, in hours, minutes and seconds. */
const TIMES = /^(?=.)(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?$/;

function secondsOf(text: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = TIMES.exec(text) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

const DURATION = "expected a duration, such as 10m, 1h30m or 0.5s";
export const Duration = z.lazy(() =>
  z.pipe(z.string(DURATION).check(z.regex(TIMES, DURATION)), z.transform(secondsOf)),
);

const KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;

function isLabelKey(text: string): boolean {
  return KEY.test(text);
}

function isLabelValue(text: string): boolean {
  return VALUE.test(text);
}

/** One requirement of a label selector in text form. */
const REQUIREMENT =
  /^(?:! ?(?<absent>[^ =!(),<>]+)|(?<key>[^ =!(),<>]+)(?: ?(?<sign>!=|==?) ?(?<value>[^ =!(),<>]*))?)$/;

/**
 * Parses a label selector in text form. Returns undefined for an invalid one and for set requirements. An empty text
 * selects everything.
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

const SELECTOR = "expected a label selector, such as: d=e,f!=g,h,!i";
export const SelectorText = z.lazy(() =>
  z.pipe(
    z.string(SELECTOR).check(z.refine((value) => selectorOf(value) !== undefined, SELECTOR)),
    z.transform((value) => selectorOf(value) ?? { matchLabels: {}, matchExpressions: [] }),
  ),
);

const LABEL_KEY = "expected the key of a label";
const LABEL_VALUE = "expected the value of a label";
const LabelKey = z.lazy(() => z.string(LABEL_KEY).check(z.refine(isLabelKey, LABEL_KEY)));
const LabelValue = z.lazy(() => z.string(LABEL_VALUE).check(z.refine(isLabelValue, LABEL_VALUE)));

/** A metav1 LabelSelectorRequirement that LabelSelectorAsSelector accepts. */
const Requirement = z.lazy(() =>
  mapping({
    key: LabelKey,
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"], "expected In, NotIn, Exists or DoesNotExist"),
    values: listArgument(LabelValue),
  }).check(
    z.refine(({ operator, values }) => values.length > 0 === operator.endsWith("In"), {
      path: ["values"],
      error: "expected values with In and NotIn, and none with Exists and DoesNotExist",
    }),
  ),
);

export const SelectorArgument: z.ZodMiniType<LabelSelector> = z.lazy(() =>
  mapping({
    matchLabels: z._default(z.record(LabelKey, LabelValue, "expected a mapping of labels"), {}),
    matchExpressions: listArgument(Requirement),
  }),
);

/** `{include, exclude}` of namespaces: only one may be used. An empty list counts as absent. */
export const Namespaces = z.lazy(() => {
  const names = z.exactOptional(z.array(text("expected the name of a namespace"), "expected a list"));
  return mapping({ include: names, exclude: names }).check(
    z.refine(
      ({ include = [], exclude = [] }) => include.length === 0 || exclude.length === 0,
      "expected include or exclude, not both",
    ),
  );
});

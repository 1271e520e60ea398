/** Evaluates label selectors. */
export type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[] | null;
}

export type Labels = Readonly<Record<string, string>>;

/** Returns true if the labels match. An empty selector matches everything. The caller handles a missing selector. */
export function matchesSelector({ matchLabels, matchExpressions }: LabelSelector, labels: Labels): boolean {
  const equal = Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return equal && matchesLabels((matchExpressions ?? []) as LabelRequirement[], labels);
}

export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every((one) => matchesLabel(one, labels[one.key]));
}

function matchesLabel({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return Number(value) > Number(values[0]);
    case "Lt":
      return Number(value) < Number(values[0]);
  }
}

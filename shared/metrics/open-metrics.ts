/** Writes metrics as OpenMetrics 1.0 text (draft-richih-opsawg-openmetrics). Prometheus asks for this format first. */

export const OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

export type MetricType = "counter" | "gauge" | "info";

export interface Family {
  /** The name of the metric. If the metric has a unit, the name ends with `_<unit>`. */
  readonly name: string;
  readonly type: MetricType;
  readonly unit: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

export const SUFFIX = { counter: "_total", gauge: "", info: "_info" } as const satisfies Record<MetricType, string>;

export function renderOpenMetrics(metrics: readonly (readonly [Family, readonly Sample[]])[]): string {
  return [...metrics.flatMap(([family, samples]) => linesOf(family, samples)), "# EOF", ""].join("\n");
}

function linesOf(family: Family, samples: readonly Sample[]): readonly string[] {
  const { name, type, unit, help } = family;
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === "" ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escaped(help)}`,
    ...samples.map((sample) => `${name}${SUFFIX[type]}${labelsOf(family, sample)} ${numberOf(sample.value)}`),
  ];
}

function labelsOf({ labels }: Family, sample: Sample): string {
  const pairs = labels.map((label, i) => `${label}="${escaped(sample.labels[i] ?? "")}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Escapes a text. OpenMetrics also escapes quotes in help texts, unlike Prometheus' older format. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function numberOf(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

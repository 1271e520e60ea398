/**
 * The relay's metrics in OpenMetrics text.
 * Owns: counting, the format. Does not own: what the numbers are taken from.
 * Specification: https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
 */
export const METRICS_CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Counter {
  add(labels: Labels, by?: number): void;
  family(): Family;
}

export function createCounter(name: string, help: string): Counter {
  const values = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    add(labels, by = 1) {
      const key = JSON.stringify(labels);
      const sample = values.get(key) ?? { labels, value: 0 };
      sample.value += by;
      values.set(key, sample);
    },
    family: () => ({ name, type: "counter", help, samples: [...values.values()] }),
  };
}

export function renderMetrics(families: readonly Family[]): string {
  return `${families.flatMap(linesOf).join("\n")}\n# EOF\n`;
}

function linesOf({ name, type, help, samples }: Family): readonly string[] {
  const sampled = type === "counter" ? `${name}_total` : name;
  return [
    `# TYPE ${name} ${type}`,
    `# HELP ${name} ${help}`,
    ...samples.map(({ labels, value }) => `${sampled}${labelsOf(labels)} ${value}`),
  ];
}

function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/**
 * Tests that every metric, label and label value in the alerts and the dashboard exists, and that each alert has a
 * runbook.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { createCounters, memoryMetric, outboxMetrics, watchingMetric } from "../../../infra/relay/metrics.ts";
import { LABEL_VALUES } from "../../../infra/tools/docs/metrics.ts";
import { type Family, SUFFIX } from "../../../shared/metrics/open-metrics.ts";
import { FAMILIES } from "../../../shared/metrics/metrics.ts";

const folder = fileURLToPath(new URL("../../../infra/observability/", import.meta.url));
const read = (path: string) => readFileSync(`${folder}${path}`, "utf8");

const Alert = z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ runbook_url: z.string() }) });
const Rules = z.object({ spec: z.object({ groups: z.array(z.object({ rules: z.array(Alert) })) }) });
const ALERTS = Rules.parse(load(read("prometheus-rule.yaml"))).spec.groups.flatMap(({ rules }) => rules);
const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const PANELS = Dashboard.parse(JSON.parse(read("dashboard.json"))).panels;
const EXPRESSIONS = [
  ...ALERTS.map(({ alert, expr }) => [alert, expr] as const),
  ...PANELS.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];

const relayFamilies: readonly Family[] = [
  ...Object.values(createCounters()).map((counter) => counter.metric()),
  ...outboxMetrics({}, new Date(0)),
  watchingMetric(new Map()),
  memoryMetric(),
].map(([family]) => family);
/** Prometheus adds this metric for each target. */
const UP: Family = { name: "up", type: "gauge", unit: "", help: "", labels: [] };
const labelsOf = new Map<string, readonly string[]>(
  [...Object.values(FAMILIES), ...relayFamilies, UP].map(({ name, type, labels }) => [
    `${name}${SUFFIX[type]}`,
    labels,
  ]),
);
/** Lists the labels that the shipped ScrapeConfig and monitors add to targets. */
const TARGET_LABELS = ["cluster", "job"];
const VALUES: Readonly<Record<string, string | readonly string[] | undefined>> = LABEL_VALUES;

test.each(EXPRESSIONS)("%s names only existing metrics, labels and values", (_, expression) => {
  const metrics = [...expression.matchAll(/\b(?:lifeboat_\w+|up)\b/g)].map(([name]) => name);
  expect(metrics).not.toEqual([]);
  expect([...labelsOf.keys()]).toEqual(expect.arrayContaining(metrics));
  const labels = [...TARGET_LABELS, ...metrics.flatMap((name) => labelsOf.get(name) ?? [])];
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names = ""]) => names.split(", "));
  const matched = [...expression.matchAll(/(\w+)[=!]~?"([^"]*)"/g)];
  expect(labels).toEqual(expect.arrayContaining([...grouped, ...matched.map(([, label]) => label)]));
  for (const [, label = "", value = ""] of matched) {
    const known = VALUES[label];
    if (Array.isArray(known)) expect(known).toEqual(expect.arrayContaining(value.split("|")));
  }
});

test("each alert has its own runbook in this repository, and each runbook its alert", () => {
  const urls = readdirSync(`${folder}runbooks`).map((file) => `infra/observability/runbooks/${file}`);
  expect(ALERTS.map(({ annotations }) => annotations.runbook_url).toSorted()).toEqual(urls.toSorted());
});

test("the release adds the address of its own files to runbooks", () => {
  const workflow = readFileSync(new URL("../../../.github/workflows/release.yml", import.meta.url), "utf8");
  expect(workflow).toContain("s#runbook_url: #runbook_url: $GITHUB_SERVER_URL/$GITHUB_REPOSITORY/blob/$VERSION/#");
});

/** What the rules and the dashboard name exists: metrics, labels, their values, and a page for each alert. */
import { describe, expect, test } from "vitest";
import { createCounters, memoryMetric, outboxMetrics, syncedMetric } from "../../infra/relay/metrics.ts";
import { LANES } from "../../infra/relay/event.ts";
import { RESULTS } from "../../infra/relay/send.ts";
import { LABEL_VALUES } from "../../infra/tools/docs/metrics.ts";
import { FAMILIES } from "../../shared/metrics/families.ts";
import { type Family, SUFFIX } from "../../shared/metrics/open-metrics.ts";
import { namesIn, type Matcher } from "./promql.ts";
import { ALERTS, PANELS, read, runbooks } from "./shipped.ts";

const relayFamilies: readonly Family[] = [
  ...Object.values(createCounters()).map((counter) => counter.metric()),
  ...outboxMetrics({}, new Date(0)),
  syncedMetric(new Map()),
  memoryMetric(),
].map(([family]) => family);

/** Prometheus' own, of each target. */
const UP: Family = { name: "up", type: "gauge", unit: "", help: "", labels: [] };

const families = new Map<string, Family>(
  [...Object.values(FAMILIES), ...relayFamilies, UP].map((family) => [`${family.name}${SUFFIX[family.type]}`, family]),
);

/** Of targets: as the shipped ScrapeConfig and monitors make them. */
const TARGET_LABELS = ["cluster", "job"];
const VALUES: Readonly<Record<string, string | readonly string[]>> = {
  ...LABEL_VALUES,
  lane: LANES,
  job: ["lifeboat", "lifeboat-relay"],
};

function isKnownValue(name: string, { label, op, value }: Matcher): boolean {
  const known: string | readonly string[] | undefined =
    label === "result" && name.startsWith("lifeboat_relay") ? RESULTS : VALUES[label];
  if (typeof known !== "object") return true;
  return (op.endsWith("~") ? value.split("|") : [value]).every((one) => known.includes(one));
}

const expressions = [...ALERTS.map(({ alert, expr }) => [alert, expr] as const), ...PANELS];

describe.each(expressions)("%s", (_, expression) => {
  const { selectors, grouping } = namesIn(expression);

  test("names metrics that there are, with labels that they have", () => {
    expect(selectors).not.toEqual([]);
    for (const { name, matchers } of selectors) {
      expect([...families.keys()]).toContain(name);
      const labels = [...(families.get(name)?.labels ?? []), ...TARGET_LABELS];
      for (const matcher of matchers) {
        expect(labels).toContain(matcher.label);
        if (matcher.value !== "$cluster") expect([matcher, isKnownValue(name, matcher)]).toEqual([matcher, true]);
      }
    }
  });

  test("groups by labels that they have", () => {
    const labels = selectors.flatMap(({ name }) => families.get(name)?.labels ?? []);
    expect([...TARGET_LABELS, ...labels]).toEqual(expect.arrayContaining([...grouping]));
  });
});

test("an expression with a mistake is none", () => {
  expect(() => namesIn("max by (cluster (up)")).toThrow(/no PromQL/);
});

describe("runbooks", () => {
  test("there is one for each alert, and no other", () => {
    expect(runbooks().toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
  });

  test.each(ALERTS)("$alert leads to its own", ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(`https://lifeboat.dev/runbooks/${alert}.md`);
  });

  test.each(ALERTS)("of $alert says what it means, what it costs, how to look and what to do", ({ alert }) => {
    const text = read(`runbooks/${alert}.md`);
    const headings = [...text.matchAll(/^#+ .*$/gm)].map(([heading]) => heading);
    expect(headings).toEqual([`# ${alert}`, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"]);
    expect(text).toMatch(/^(kubectl|curl) /m);
  });
});

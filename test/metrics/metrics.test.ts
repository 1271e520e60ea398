/** What a cluster's metrics say, and that METRICS.md says which there are. */
import parse from "parse-prometheus-text-format";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../functions/version.ts";
import packageJson from "../../package.json" with { type: "json" };
import { FAMILIES, LABEL_VALUES } from "../../shared/metrics/families.ts";
import { type ClusterMetrics, renderMetrics } from "../../shared/metrics/metrics.ts";
import { type Family, SUFFIX } from "../../shared/metrics/open-metrics.ts";
import { renderMetricsDocument } from "../../shared/metrics/render-document.ts";
import { CAUSES } from "../../shared/policy/cause.ts";
import { OUTCOMES } from "../../shared/policy/record.ts";
import { marked, record, vmi, without } from "../policy/fixtures.ts";

const NONE = { evacuations: [], counted: [] };

function rendered(tweak: Partial<ClusterMetrics> = {}): string {
  return renderMetrics({ version: "1.2.3", counters: NONE, vmis: [], ...tweak });
}

/** The samples of that name: their labels and value, zeros left out unless asked for. */
function samplesOf(name: string, tweak: Partial<ClusterMetrics>, zeros = false) {
  const metrics = parse(rendered(tweak)).find((one) => one.name === name)?.metrics ?? [];
  const samples = metrics.map(({ labels = {}, value }) => [...Object.values(labels), Number(value)]);
  return zeros ? samples : samples.filter((sample) => sample.at(-1) !== 0);
}

describe("evacuations that have ended", () => {
  const counters = {
    ...NONE,
    evacuations: [
      { cause: "ApiEviction", outcome: "Moved", count: 20 },
      { cause: "DrainTaint", outcome: "Withdrawn", count: 1 },
    ],
  } as const;

  test("are told by cause and outcome", () => {
    expect(samplesOf("lifeboat_evacuations_total", { counters })).toEqual([
      ["ApiEviction", "Moved", 20],
      ["DrainTaint", "Withdrawn", 1],
    ]);
  });

  test("all there can be are there from the start, at zero", () => {
    const all = CAUSES.flatMap((cause) => OUTCOMES.map((outcome) => [cause, outcome, 0]));
    expect(samplesOf("lifeboat_evacuations_total", {}, true)).toEqual(all);
  });

  test("an entry that somebody wrote twice makes no sample twice", () => {
    const twice = { ...NONE, evacuations: [...counters.evacuations, ...counters.evacuations] };
    expect(samplesOf("lifeboat_evacuations_total", { counters: twice })).toHaveLength(2);
  });

  test.each(["Off", "Unseen"] as const)("are no zeros where the counters are %s: there is no such family", (seen) => {
    expect(rendered({ counters: seen })).not.toMatch(/lifeboat_evacuations(_total)? /);
    expect(rendered({ counters: seen })).toContain("lifeboat_evacuations_in_progress{");
  });
});

describe("evacuations in progress", () => {
  // prettier-ignore
  test.each([
    ["under way",                        marked(),                                                       1],
    ["for the drain taint, not marked",  vmi({ record: record(), evacuationLabel: "normal" }),           1],
    ["in back-off",                      marked({}, { attempts: 1, notBefore: "2030-01-01T00:00:00Z" }), 1],
    ["moved, to be tidied up",           marked({ nodeName: "node02" }),                                 0],
    ["abandoned, to be tidied up",       marked({}, { outcome: "Abandoned" }),                           0],
    ["marked by somebody, not recorded", without(marked(), "record"),                                    0],
  ])("%s: %s", (_, subject, count) => {
    expect(samplesOf("lifeboat_evacuations_in_progress", { vmis: [subject] })).toEqual(
      count === 0 ? [] : [["ApiEviction", count]],
    );
  });

  test("are told by cause, all causes", () => {
    const vmis = [marked(), marked(), marked({}, { cause: "Preemption" })];
    expect(samplesOf("lifeboat_evacuations_in_progress", { vmis }, true)).toEqual(
      CAUSES.map((cause) => [cause, { ApiEviction: 2, Preemption: 1 }[cause as string] ?? 0]),
    );
  });
});

describe("descheduling", () => {
  const one = { plugin: "PodLifeTime", profile: 'the "first"', result: "Background", count: 4 } as const;

  test("what was requested, and what is in progress", () => {
    const descheduling = { counts: [one, { ...one, result: "Refused", count: 1 }], inProgress: 3 } as const;
    expect(samplesOf("pod_evacuations_total", { descheduling })).toEqual([
      ["PodLifeTime", 'the "first"', "background", 4],
      ["PodLifeTime", 'the "first"', "refused", 1],
    ]);
    expect(samplesOf("pod_evacuations_in_progress", { descheduling })).toEqual([[3]]);
  });

  test("where there is none, there are no such families", () => {
    expect(rendered()).not.toContain("pod_evacuations");
  });
});

test("the version is told", () => {
  expect(rendered()).toContain('\nlifeboat_build_info{version="1.2.3"} 1\n');
});

test("the Worker's version is the package's", () => expect(VERSION).toBe(packageJson.version));

describe("the table of families", () => {
  const families: readonly Family[] = Object.values(FAMILIES);
  const all = rendered({
    descheduling: { counts: [{ plugin: "s", profile: "p", result: "Evicted", count: 1 }], inProgress: 1 },
  });

  test.each(families)("$name is in the text, with its labels", ({ name, type, help, labels }) => {
    expect(all).toContain(`# TYPE ${name} ${type}\n# HELP ${name} ${help}\n`);
    const sample = all.split("\n").find((line) => new RegExp(`^${name}${SUFFIX[type]}[{ ]`).test(line));
    expect([...(sample ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label)).toEqual(labels);
  });

  test.each(families)("$name is a name that OpenMetrics allows, and ends in its unit", ({ name, unit }) => {
    expect(name).toMatch(/^[a-z][a-z_]*[a-z]$/);
    expect(name).not.toMatch(/_(?:total|info|count|sum|bucket|created)$/);
    if (unit !== "") expect(name.endsWith(`_${unit}`)).toBe(true);
  });

  test("no two of them have a sample of the same name", () => {
    const names = families.map(({ name, type }) => `${name}${SUFFIX[type]}`);
    expect(new Set([...names, ...families.map(({ name }) => name)]).size).toBe(
      names.length + families.filter(({ type }) => type !== "gauge").length,
    );
  });

  test("every label is explained, and none is a tenant's", () => {
    const labels = new Set(families.flatMap(({ labels: names }) => [...names]));
    expect(Object.keys(LABEL_VALUES).toSorted()).toEqual([...labels].toSorted());
    for (const tenants of ["namespace", "name", "node", "vm", "vmi", "pod"]) expect([...labels]).not.toContain(tenants);
  });
});

test("shared/metrics/METRICS.md is rendered from the code", async () => {
  const how = "the metrics have changed: `npx vitest run test/metrics -u` renders METRICS.md anew";
  await expect(renderMetricsDocument(), how).toMatchFileSnapshot("../../shared/metrics/METRICS.md");
});

/** OpenMetrics text: read back by a parser that is not ours, and line by line where OpenMetrics is stricter than that. */
import { describe, expect, test } from "vitest";
import { type Family, OPEN_METRICS, renderOpenMetrics, type Sample } from "../../../shared/metrics/open-metrics.ts";

function family(tweak: Partial<Family> = {}): Family {
  return { name: "things", type: "counter", unit: "", help: "Things.", labels: [], ...tweak };
}

const lines = (tweak: Partial<Family>, ...samples: readonly Sample[]) =>
  renderOpenMetrics([[family(tweak), samples]]).split("\n");

const one: Sample = { labels: [], value: 1 };

describe("the rules of OpenMetrics", () => {
  test("the content type names the version and the charset", () => {
    expect(OPEN_METRICS).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  });

  test("the text ends with # EOF and a line feed, and has no empty line", () => {
    expect(renderOpenMetrics([])).toBe("# EOF\n");
    expect(renderOpenMetrics([[family(), [one]]])).toBe(
      "# TYPE things counter\n# HELP things Things.\nthings_total 1\n# EOF\n",
    );
  });

  // prettier-ignore
  test.each([
    ["counter", "things_total 1"],
    ["gauge",   "things 1"],
    ["info",    "things_info 1"],
  ] as const)("a sample of a %s is %s", (type, line) => {
    expect(lines({ type }, one)).toContain(line);
  });

  test("the unit is told, between type and help, if there is one", () => {
    expect(lines({ name: "wait_seconds", unit: "seconds" }).slice(0, 3)).toEqual([
      "# TYPE wait_seconds counter",
      "# UNIT wait_seconds seconds",
      "# HELP wait_seconds Things.",
    ]);
  });

  // prettier-ignore
  test.each([
    ["all of them",    '\\"\n',      '\\\\\\"\\n'],
  ])("%s is escaped, in labels and in help", (_, text, escaped) => {
    expect(lines({ help: text, labels: ["l"] }, { labels: [text], value: 1 })).toEqual([
      "# TYPE things counter",
      `# HELP things ${escaped}`,
      `things_total{l="${escaped}"} 1`,
      "# EOF",
      "",
    ]);
  });

  // prettier-ignore
  test.each([
    [0, "0"], [12, "12"], [0.5, "0.5"], [1e21, "1e+21"], [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [Infinity, "+Inf"], [-Infinity, "-Inf"], [NaN, "NaN"],
  ])("the number %d is %s", (value, text) => {
    expect(lines({ type: "gauge" }, { labels: [], value })).toContain(`things ${text}`);
  });
});

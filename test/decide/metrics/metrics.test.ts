/** Tests a cluster's metrics in the OpenMetrics format, and the list of all metrics in METRICS.md. */
import { readFileSync } from "node:fs";
import parse from "parse-prometheus-text-format";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../../functions/env.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { type ClusterMetrics, FAMILIES, renderMetrics, type SeenMetrics } from "../../../shared/metrics/metrics.ts";
import { type Family, SUFFIX, renderOpenMetrics, type Sample } from "../../../shared/metrics/open-metrics.ts";
import { withTables } from "../../../infra/tools/docs/policy/document.ts";
import { LABEL_VALUES, METRICS_TABLES } from "../../../infra/tools/docs/metrics.ts";
import { CAUSES, END_PHASES, type EndPhase } from "../../../shared/kube/evacuation.ts";
import { asked, started } from "../../support/maintenance/worlds.ts";
import { endedEvacuation, evacuation, newborn, NOW, time } from "../../support/fixtures.ts";

const KEPT = { expiresAt: undefined, rejected: false };

function rendered(tweak: Partial<SeenMetrics> = {}, credential: ClusterMetrics["credential"] = KEPT): string {
  const nothing = { evacuations: [], nodeEvacuations: [], rolling: [], webhooks: [], configurationProblems: 0 };
  const seen = { ...nothing, undecided: false, guardProblem: undefined, isDescheduling: false, now: NOW, ...tweak };
  return renderMetrics({ version: "1.2.3", credential, seen });
}

/**
 * Returns the labels and the value of each sample with this name. Samples with the value 0 are omitted unless `zeros`
 * is set.
 */
function samplesOf(name: string, tweak: Partial<SeenMetrics>, zeros = false) {
  const metrics = parse(rendered(tweak)).find((one) => one.name === name)?.metrics ?? [];
  const samples = metrics.map(({ labels = {}, value }) => [...Object.values(labels), Number(value)]);
  return zeros ? samples : samples.filter((sample) => sample.at(-1) !== 0);
}

function endedAt(phase: EndPhase, seconds: number) {
  return endedEvacuation(phase, { status: { completionTime: time(seconds) } });
}

describe("ended evacuations", () => {
  test("of the last hour are counted by cause and outcome", () => {
    const evacuations = [
      endedAt("Moved", -1),
      endedAt("Moved", -3599),
      endedAt("Moved", -3600),
      endedAt("Withdrawn", 0),
      evacuation(),
    ];
    expect(samplesOf("lifeboat_evacuations_ended_last_hour", { evacuations })).toEqual([
      ["ApiEviction", "Moved", 2],
      ["ApiEviction", "Withdrawn", 1],
    ]);
  });

  test("have a zero sample for each cause and outcome from the start", () => {
    const all = CAUSES.flatMap((cause) => END_PHASES.map((outcome) => [cause, outcome, 0]));
    expect(samplesOf("lifeboat_evacuations_ended_last_hour", {}, true)).toEqual(all);
  });
});

describe("evacuations in progress", () => {
  const evacuations = [evacuation(), newborn(), evacuation({ spec: { cause: "Preemption" } })];

  test("are counted by cause, for all causes", () => {
    expect(samplesOf("lifeboat_evacuations_in_progress", { evacuations }, true)).toEqual(
      CAUSES.map((cause) => [cause, { ApiEviction: 2, Preemption: 1 }[cause as string] ?? 0]),
    );
  });

  test("are counted in pod_evacuations_in_progress if their VMI has an evacuationNodeName", () => {
    expect(samplesOf("pod_evacuations_in_progress", { evacuations, isDescheduling: true })).toEqual([[2]]);
    expect(rendered({ evacuations })).not.toContain("pod_evacuations");
  });

  test("requested by descheduling are a counter", () => {
    const name = "lifeboat_descheduling_pod_evacuations";
    const text = rendered({ isDescheduling: true, podEvacuations: 7 });
    expect(text).toContain(`# TYPE ${name} counter\n`);
    expect(text).toContain(`\n${name}_total 7\n`);
    expect(rendered({ isDescheduling: true })).not.toContain(`${name}_total`);
  });
});

function evacuationAt(name: string, at: number, status: object) {
  return newborn({ name, uid: name, createdAt: at * 1000, status });
}

describe("evacuations that do not continue", () => {
  const evacuations = [
    evacuationAt("a", 700, { phase: "Blocked", reason: "DisksNotLiveMigratable" }),
    evacuationAt("b", 600, { phase: "Blocked", reason: "DisksNotLiveMigratable" }),
    evacuationAt("c", 500, { phase: "Blocked", reason: "OfALaterKubeVirt" }),
    evacuationAt("d", 400, { phase: "WaitingForExternalController", reason: "External" }),
    evacuationAt("e", 300, { phase: "Migrating", reason: "Queued" }),
    evacuationAt("f", 200, {}),
    evacuationAt("g", 0, { phase: "Pending" }),
  ];

  test("are counted by their reason", () => {
    expect(samplesOf("lifeboat_evacuations_blocked", { evacuations })).toEqual([
      ["DisksNotLiveMigratable", 2],
      ["OfALaterKubeVirt", 1],
      ["External", 1],
    ]);
  });

  test("show the time of the oldest evacuation of each phase, and omit evacuations without a date", () => {
    expect(samplesOf("lifeboat_evacuations_oldest_timestamp_seconds", { evacuations })).toEqual([
      ["Pending", 200],
      ["Migrating", 300],
      ["WaitingForExternalController", 400],
      ["Blocked", 500],
    ]);
  });
});

describe("the metrics of the credential", () => {
  test("show its end, in seconds since the epoch", () => {
    const expiresAt = new Date("2027-01-01T00:00:00.900Z");
    const text = rendered({}, { expiresAt, rejected: false });
    expect(text).toContain("\nlifeboat_credential_accepted 1\n");
    expect(text).toContain("\nlifeboat_credential_expiry_timestamp_seconds 1798761600\n");
  });

  test("show that it is not accepted, when nothing else could be read", () => {
    const text = renderMetrics({ version: "1.2.3", credential: { ...KEPT, rejected: true } });
    expect(text).toContain("\nlifeboat_credential_accepted 0\n");
    expect(text).not.toMatch(/lifeboat_(?:evacuations|webhook)/);
  });
});

test("each webhook has a sample of whether it has a problem", () => {
  const problem = { reason: "WebhookMissing", message: "m" } as const;
  const webhooks = [{ endpoint: "evictions" }, { endpoint: "deletions", problem }] as const;
  const samples = [
    ["evictions", 0],
    ["deletions", 1],
  ];
  expect(samplesOf("lifeboat_webhook_problems", { webhooks }, true)).toEqual(samples);
});

test("the version has a sample", () => {
  expect(rendered()).toContain('\nlifeboat_build_info{version="1.2.3"} 1\n');
});

test("the Worker's version is the package's version", () => expect(VERSION).toBe(packageJson.version));

describe("the table of metric families", () => {
  const families: readonly Family[] = Object.values(FAMILIES);
  const all = rendered(
    {
      evacuations: [newborn(), evacuationAt("a", 700, { phase: "Blocked", reason: "External" })],
      nodeEvacuations: [
        started({ status: { phase: "Blocked" } }),
        started({ status: { phase: "Gone", completionTime: time(0) } }),
      ],
      isDescheduling: true,
      podEvacuations: 1,
      webhooks: [{ endpoint: "evictions" }],
      guardProblem: "PolicyMissing",
    },
    { expiresAt: new Date(0), rejected: false },
  );

  test("includes NodeEvacuations by phase, and late ones", () => {
    const status = { phase: "Evacuating", estimatedCompletionTime: time(-1) } as const;
    const nodeEvacuations = [asked(), started({ status }), started({ status: { phase: "Evacuated" } })];
    expect(samplesOf("lifeboat_node_evacuations", { nodeEvacuations })).toEqual([
      ["Scheduled", 1],
      ["Evacuating", 1],
    ]);
    expect(samplesOf("lifeboat_node_evacuations_late", { nodeEvacuations })).toEqual([[1]]);
  });

  test.each(families)("includes $name with its labels", ({ name, type, unit, help, labels }) => {
    const reported = unit === "" ? "" : `# UNIT ${name} ${unit}\n`;
    expect(all).toContain(`# TYPE ${name} ${type}\n${reported}# HELP ${name} ${help}\n`);
    const sample = all.split("\n").find((line) => new RegExp(`^${name}${SUFFIX[type]}[{ ]`).test(line));
    expect([...(sample ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label)).toEqual(labels);
  });

  test("explains every label, and no label holds a tenant's name", () => {
    const labels = new Set(families.flatMap(({ labels: names }) => [...names]));
    expect(Object.keys(LABEL_VALUES).toSorted()).toEqual([...labels].toSorted());
    for (const tenants of ["namespace", "name", "node", "vm", "vmi", "pod"]) expect([...labels]).not.toContain(tenants);
  });
});

test("each table of shared/metrics/METRICS.md is rendered from the code", async () => {
  const text = readFileSync(new URL("../../../shared/metrics/METRICS.md", import.meta.url), "utf8");
  const how = "the metrics have changed: `npx vitest run test/decide/metrics -u` renders the tables of METRICS.md anew";
  await expect(withTables(text, METRICS_TABLES), how).toMatchFileSnapshot("../../../shared/metrics/METRICS.md");
});

function family(tweak: Partial<Family> = {}): Family {
  return { name: "things", type: "counter", unit: "", help: "Things.", labels: [], ...tweak };
}

const lines = (tweak: Partial<Family>, ...samples: readonly Sample[]) =>
  renderOpenMetrics([[family(tweak), samples]]).split("\n");

const one: Sample = { labels: [], value: 1 };

describe("OpenMetrics requires that", () => {
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

  test("the unit, if there is one, follows the type and precedes the help", () => {
    expect(lines({ name: "wait_seconds", unit: "seconds" }).slice(0, 3)).toEqual([
      "# TYPE wait_seconds counter",
      "# UNIT wait_seconds seconds",
      "# HELP wait_seconds Things.",
    ]);
  });

  // prettier-ignore
  test.each([
    ["all special characters",    '\\"\n',      '\\\\\\"\\n'],
  ])("%s is escaped in labels and help", (_, text, escaped) => {
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
  ])("the number %d is written as %s", (value, text) => {
    expect(lines({ type: "gauge" }, { labels: [], value })).toContain(`things ${text}`);
  });
});

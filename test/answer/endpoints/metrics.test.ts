/** Tests that a cluster's metrics depend only on the cluster's state. */
import parse from "parse-prometheus-text-format";
import { describe, expect, test } from "vitest";
import { ReviewCounts } from "../../../functions/review.ts";
import type { EvacuationFacts, Phase } from "../../../shared/kube/evacuation.ts";
import { type Behaviour, status } from "../../support/answers.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { newborn, NOW, time, vmi } from "../../support/fixtures.ts";
import { openApp } from "../../support/app.ts";

const scrape = (fake: FakeCluster) => openApp(fake).metrics();

/** Returns the samples that are not zero, keyed by the sample's name and label values. */
function samplesIn(text: string): Readonly<Record<string, number>> {
  const samples = parse(text).flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => [`${name} ${Object.values(labels).join()}`, Number(value)] as const),
  );
  return Object.fromEntries(samples.filter(([, value]) => value !== 0));
}

function evacuating(vmiName: string, phase: Phase, endedSecondsAgo?: number): EvacuationFacts {
  const spec = { vmiName, cause: "DrainTaint" } as const;
  const ended = endedSecondsAgo === undefined ? {} : { completionTime: time(-endedSecondsAgo) };
  return newborn({ name: vmiName, uid: vmiName, spec, status: { phase, ...ended } });
}

const CONSTANT = { "lifeboat_build_info 0.4.0": 1, "lifeboat_credential_accepted ": 1 };

test("without evacuations, all metrics are zero", async () => {
  const { code, text, contentType } = await scrape(new FakeCluster());
  expect([code, contentType]).toEqual([200, "application/openmetrics-text; version=1.0.0; charset=utf-8"]);
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(samplesIn(text)).toEqual(CONSTANT);
  expect(text).toContain('\nlifeboat_evacuations_ended_last_hour{cause="Preemption",outcome="Moved"} 0\n');
});

test("ended and active evacuations are counted, without names of tenants", async () => {
  const fake = new FakeCluster();
  fake.evacuations.put(
    evacuating("red-vm", "Pending"),
    evacuating("blue-vm", "BackingOff"),
    evacuating("over", "Withdrawn", 3599),
    evacuating("long-over", "Withdrawn", 3601),
  );
  fake.vmis.put(vmi({ name: "calm" }));
  const began = NOW.getTime() / 1000 - 60;
  const { text } = await scrape(fake);
  expect(samplesIn(text)).toEqual({
    ...CONSTANT,
    "lifeboat_evacuations_ended_last_hour DrainTaint,Withdrawn": 1,
    "lifeboat_evacuations_in_progress DrainTaint": 2,
    "lifeboat_evacuations_oldest_timestamp_seconds Pending": began,
    "lifeboat_evacuations_oldest_timestamp_seconds BackingOff": began,
  });
  expect(text).not.toMatch(/apps|red-vm|calm|node01/);
});

describe.each(["nodeevacuations", "rollingmaintenances"])("a list of %s", (resource) => {
  const scrapeWith = async (behaviour: Behaviour) => {
    const fake = new FakeCluster();
    fake.api.instead = (asked) => (asked.resource === resource ? behaviour : undefined);
    return await scrape(fake);
  };

  test("that is not served counts as empty, because the manifests are older", async () => {
    const { code, text } = await scrapeWith(status(404, "NotFound"));
    expect([code, samplesIn(text)]).toEqual([200, CONSTANT]);
  });

  test("that Lifeboat may not read has no gauges, not even with the value 0", async () => {
    const gauge = resource === "nodeevacuations" ? "lifeboat_node_evacuations" : "lifeboat_rolling_maintenances";
    const { code, text } = await scrapeWith(status(403, "Forbidden"));
    expect([code, text.includes(`\n${gauge}{`)]).toEqual([200, false]);
    expect((await scrape(new FakeCluster())).text).toContain(`\n${gauge}{`);
  });

  test("that fails for another reason fails the scrape, because an empty list would end an alert", async () => {
    expect((await scrapeWith(status(500, "InternalError"))).code).toBe(502);
  });
});

// prettier-ignore
test.each<[string, Record<string, boolean>, Record<string, string> | undefined, number | undefined]>([
  ["are 0 before the first cycle",         { EvictionsInBackground: true },  undefined,                             0],
  ["are counted after cycles",             { EvictionsInBackground: true },  { "lifeboat.dev/pod-evacuations": "12" }, 12],
  ["are omitted without the feature gate", { EvictionsInBackground: false }, { "lifeboat.dev/pod-evacuations": "12" }, undefined],
])("pod evacuations requested by descheduling %s", async (_, featureGates, annotations, expected) => {
  const fake = new FakeCluster();
  fake.configure({ featureGates });
  const metadata = { namespace: "lifeboat-system", name: "lifeboat-descheduling", uid: "lease", resourceVersion: "1" };
  if (annotations !== undefined) fake.api.put("leases", { metadata: { ...metadata, annotations }, spec: {} });
  const found = /^lifeboat_descheduling_pod_evacuations_total (\d+)$/m.exec((await scrape(fake)).text)?.[1];
  expect(found).toBe(expected?.toString());
});

test("a replica counts its answers since its start by review and answer", () => {
  const counts = new ReviewCounts();
  expect(counts.render().match(/^lifeboat_reviews_total\{.* 0$/gm)).toHaveLength(6);
  counts.count("evictions", "undecided");
  counts.count("evictions", "undecided");
  counts.count("deletions", "refused");
  expect(samplesIn(counts.render())).toEqual({
    "lifeboat_reviews_total evictions,undecided": 2,
    "lifeboat_reviews_total deletions,refused": 1,
  });
});

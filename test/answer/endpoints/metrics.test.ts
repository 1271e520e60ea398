/** The metrics of a cluster: for its operators, from what is in the cluster and nowhere else. */
import parse from "parse-prometheus-text-format";
import { beforeEach, expect, test } from "vitest";
import type { EvacuationFacts, Phase } from "../../../shared/kube/evacuation.ts";
import { type Before, failing } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { newborn, NOW, time, vmi } from "../../support/fixtures.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";

const UNAUTHORIZED = { reason: "Refused", code: 401, request: "the request" } as const;

let fake: FakeCluster;
beforeEach(() => {
  fake = new FakeCluster();
});

const scrape = (before?: Before) => openFakeDoors(fake, before).metrics();
const descheduling = () => (fake.kubeVirt = { namespace: "kubevirt", featureGates: ["EvictionsInBackground"] });

/** Samples that are not zero, as `name value,value`, with their number. */
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

test("nothing has happened yet: all is zero, and nothing is written", async () => {
  const { code, text, contentType } = await scrape();
  expect({ code, contentType }).toEqual({
    code: 200,
    contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  });
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(samplesIn(text)).toEqual({ "lifeboat_build_info 0.3.0": 1, "lifeboat_credential_accepted ": 1 });
  expect(text).toContain('\nlifeboat_evacuations_ended_last_hour{cause="Preemption",outcome="Moved"} 0\n');
});

test("what has ended, and what is in progress; nothing of a tenant's", async () => {
  fake.evacuations.put(
    evacuating("red-vm", "Pending"),
    evacuating("blue-vm", "BackingOff"),
    evacuating("over", "Withdrawn", 3599),
    evacuating("long-over", "Withdrawn", 3601),
  );
  const began = NOW.getTime() / 1000 - 60;
  fake.vmis.put(vmi({ name: "calm" }));
  const { text } = await scrape();
  expect(samplesIn(text)).toEqual({
    "lifeboat_build_info 0.3.0": 1,
    "lifeboat_credential_accepted ": 1,
    "lifeboat_evacuations_ended_last_hour DrainTaint,Withdrawn": 1,
    "lifeboat_evacuations_in_progress DrainTaint": 2,
    "lifeboat_evacuations_oldest_timestamp_seconds Pending": began,
    "lifeboat_evacuations_oldest_timestamp_seconds BackingOff": began,
  });
  expect(text).not.toMatch(/apps|red-vm|calm|node01/);
});

// prettier-ignore
test.each<[string, Before, number]>([
  ["an API server that is gone",        failing(/./),                               503],
  ["one that does not let us in",       failing(/./, UNAUTHORIZED),  502],
])("%s: an error as everywhere, and no half of an answer", async (_, before, code) => {
  descheduling();
  expect(await scrape(before)).toMatchObject({ code, body: { error: { reason: "ClusterUnavailable" } } });
});

/** Tests the metrics of node maintenance. */
import { expect, test } from "vitest";
import { blockedSamplesOf, endedSamplesOf, rollingSamples } from "../../../shared/metrics/maintenance.ts";
import type { Sample } from "../../../shared/metrics/open-metrics.ts";
import { NOW, time } from "../../support/fixtures.ts";
import { underWay } from "../../support/maintenance/rolling.ts";
import { started } from "../../support/maintenance/worlds.ts";

const inShort = (samples: readonly Sample[]) => samples.map(({ labels, value }) => [...labels, value].join(" "));

function ended(name: string, phase: "Expired" | "Evacuated", seconds: number) {
  return started({ name, status: { phase, completionTime: time(-seconds) } });
}

test("only maintenance that is blocked, or ended in the last hour, has a sample with its name", () => {
  const nodeEvacuations = [
    started({ status: { phase: "Blocked" } }),
    ended("a", "Expired", 9),
    ended("b", "Expired", 3601),
  ];
  const stopped = underWay(["Expired"], { name: "r", status: { phase: "Stopped", completionTime: time(-9) } });
  const all = { nodeEvacuations, rolling: [underWay(["Evacuating"]), stopped] };
  expect(inShort(blockedSamplesOf(all))).toEqual(["nodeevacuation/kernel node01 1"]);
  expect(inShort(endedSamplesOf(all, NOW))).toEqual([
    "Expired nodeevacuation/a node01 1",
    "Stopped rollingmaintenance/r  1",
  ]);
  expect(inShort(rollingSamples(all.rolling))).toEqual(["Scheduled 0", "Running 1", "Paused 0", "Blocked 0"]);
});

/**
 * Tests how long a pod that another component evicts in background counts as in progress, and which pods the
 * descheduler's Lease records.
 */
import { describe, expect, test } from "vitest";
import {
  annotationsAfter,
  evacuationsRequested,
  type Memory,
  MOST_REMEMBERED,
  type Noted,
  readMemory,
  recall,
} from "../../../../shared/descheduling/cycle/memory.ts";
import { at, NOW, time } from "../../../support/fixtures.ts";
import { IN_PROGRESS, plainPod, REQUEST_ONLY, requestedPod, vmPod } from "../../../support/descheduling/worlds.ts";

const TTL = 600;
const ONLY = { [REQUEST_ONLY]: "" };
const BOTH = { ...ONLY, [IN_PROGRESS]: "true" };

function noted(as: Noted["as"], seconds: number): Noted {
  return { as, since: at(seconds).getTime() };
}

function memoryOf(uid: string, entry: Noted | undefined): Memory {
  return new Map(entry === undefined ? [] : [[uid, entry]]);
}

const recalling = { now: NOW, ttlSeconds: TTL };

describe("a pod", () => {
  // prettier-ignore
  test.each<[string, Readonly<Record<string, string>>, Noted | undefined, counts: boolean, after: Noted | undefined]>([
    ["that was never requested does not count",               ONLY,                      undefined,                  false, undefined],
    ["with both annotations counts from the first time",      BOTH,                      undefined,                  true,  noted("in-progress", 0)],
    ["with both annotations counts for one TTL",              BOTH,                      noted("in-progress", -600), true,  noted("in-progress", -600)],
    ["with both annotations no longer counts after the TTL",  BOTH,                      noted("in-progress", -601), false, noted("in-progress", -601)],
    ["that was requested counts for one TTL",                 ONLY,                      noted("requested", -600),   true,  noted("requested", -600)],
    ["that was requested is not recorded after the TTL",         ONLY,                      noted("requested", -601),   false, undefined],
    ["that was requested and is now in progress counts for a new TTL", BOTH,                      noted("requested", -599),   true,  noted("in-progress", 0)],
    ["that was in progress and was cancelled is not recorded",   ONLY,                      noted("in-progress", -1),   false, undefined],
    ["in progress without request-evict-only does not count", { [IN_PROGRESS]: "true" }, undefined,                  false, undefined],
    ["that has lost request-evict-only is not recorded",         {},                        noted("requested", -1),     false, undefined],
    ["recorded by a clock far ahead does not count",             BOTH,                      noted("in-progress", 601),  false, noted("in-progress", 601)],
  ])("%s", (_, annotations, before, ...[counts, after]) => {
    const pod = plainPod("pod", { annotations });
    const { inProgress, memory } = recall(memoryOf(pod.uid, before), { ...recalling, pods: [pod] });
    expect([inProgress, memory.get(pod.uid)]).toEqual([counts ? [pod] : [], after]);
  });

  test("that has ended or is gone is not recorded", () => {
    const pod = requestedPod("pod", true, { phase: "Succeeded" });
    for (const pods of [[], [pod]]) {
      const { inProgress, memory } = recall(memoryOf(pod.uid, noted("requested", -1)), { ...recalling, pods });
      expect([inProgress, memory.size]).toEqual([[], 0]);
    }
  });

  test("of a VM counts by the same annotations", () => {
    const pod = vmPod("vm", { annotations: BOTH });
    expect(recall(new Map(), { ...recalling, pods: [pod] }).inProgress).toEqual([pod]);
  });
});

describe("the descheduler's Lease", () => {
  test("records for each pod the time since which the pod counts, and loses invalid and replaced entries", () => {
    const before = {
      "requested.lifeboat.dev/a": time(-5),
      "requested.lifeboat.dev/b": time(-4),
      "in-progress.lifeboat.dev/c": "never",
      "lifeboat.dev/pod-evacuations": "7",
    };
    expect(readMemory(before)).toEqual(
      new Map([
        ["a", noted("requested", -5)],
        ["b", noted("requested", -4)],
      ]),
    );
    const after = new Map([
      ["a", noted("in-progress", 0)],
      ["b", noted("requested", -4)],
    ]);
    expect(annotationsAfter(before, after, 2)).toEqual({
      "requested.lifeboat.dev/a": null,
      "in-progress.lifeboat.dev/c": null,
      "in-progress.lifeboat.dev/a": time(0),
      "lifeboat.dev/pod-evacuations": "9",
    });
    expect(evacuationsRequested(before)).toBe(7);
  });

  test("does not change if the entries of the pods do not change", () => {
    const before = { "requested.lifeboat.dev/a": time(-5) };
    expect(annotationsAfter(before, readMemory(before), 0)).toEqual({});
    expect([evacuationsRequested(), readMemory().size]).toEqual([0, 0]);
  });

  test("records a limited number of pods: requested pods first, then the pods that were recorded first", () => {
    const pods = Array.from({ length: MOST_REMEMBERED + 2 }, (_, i) => requestedPod(`p${i}`, i > 0));
    const [asked, first, ...others] = pods;
    const memory = new Map([
      [asked?.uid ?? "", noted("requested", -1)],
      [others.at(-1)?.uid ?? "", noted("in-progress", -9)],
    ]);
    const recalled = recall(memory, { ...recalling, pods });
    expect(recalled.memory.size).toBe(MOST_REMEMBERED);
    const kept = [asked, first, others.at(-1)].map((pod) => recalled.memory.has(pod?.uid ?? ""));
    expect(kept).toEqual([true, true, true]);
    // A pod that is not recorded does not count. Otherwise, its TTL would start again in each cycle and never end.
    expect(recalled.inProgress).toHaveLength(MOST_REMEMBERED);
    const written = annotationsAfter({}, new Map(pods.map(({ uid }) => [uid, noted("requested", 0)])), 0);
    expect(Object.keys(written)).toHaveLength(MOST_REMEMBERED);
  });
});

/** A VM that has a slot and cannot use it: how long it keeps others waiting, and what is said then. */
import { describe, expect, test } from "vitest";
import type { EvacuationWorld } from "../../shared/policy/evacuation.ts";
import type { EvacuationRecord } from "../../shared/policy/record.ts";
import { only, settings, time, verbs } from "./fixtures.ts";
import { markedCalled, plannedEvacuations, slotOf, smallFor, world } from "./worlds.ts";

function reserved(ofRecord: Partial<EvacuationRecord>, tweak: Partial<EvacuationWorld> = {}): EvacuationWorld {
  const vmi = markedCalled("web", "node01", ofRecord);
  const register = { resourceVersion: "1", slots: [slotOf(vmi)] };
  return world({ vmis: [vmi], register, settings: settings({ evacuation: { adoptSeconds: 0 } }), ...tweak });
}

const UID = "uid-web";
const small = { budgets: [smallFor(markedCalled("web"))] };

describe("what is in the way, for three minutes and longer: a failed attempt", () => {
  // prettier-ignore
  test.each<[string, Partial<EvacuationWorld>, string]>([
    ["a pod that does not end",   { activePods: new Map([[UID, 2]]) },  "it has another pod, which does not end"],
    ["no pod",                    { activePods: new Map([[UID, 0]]) },  "its pod has ended"],
    ["a budget that stays at 1",  small,                                "its disruption budget does not come to stand at 2"],
    ["no budget",                 { budgets: [] },                      "its disruption budget does not come to stand at 2"],
  ])("%s", (_, tweak, why) => {
    expect(plannedEvacuations(reserved({ since: time(-179) }, tweak))).toEqual([]);
    const actions = plannedEvacuations(reserved({ since: time(-180) }, tweak));
    expect(verbs(actions)).toEqual(["Record", "Event"]);
    expect(actions[0]).toMatchObject({ record: { attempts: 1, notBefore: time(20) } });
    expect(only("Event", actions)[0]).toMatchObject({
      reason: "MigrationFailed",
      message: `attempt 1 of 5 to move the VM off node node01 failed: ${why}; the next one in 20 s`,
    });
  });

  test("counts from the end of the last back-off, and of the time that is KubeVirt's", () => {
    const later = { since: time(-1000), attempts: 1, notBefore: time(-179) };
    expect(plannedEvacuations(reserved(later, small))).toEqual([]);
    const auto = settings({ evacuation: { adoptSeconds: 5 } });
    expect(plannedEvacuations(reserved({ since: time(-184) }, { ...small, settings: auto }))).toEqual([]);
    expect(plannedEvacuations(reserved({ since: time(-185) }, { ...small, settings: auto }))).not.toEqual([]);
  });

  test("its slot is free then, and the last time it is given up", () => {
    const [record] = only("Record", plannedEvacuations(reserved({ since: time(-200) }, small)));
    const waiting = reserved(record?.record ?? {}, { register: reserved({ since: time(-200) }).register });
    expect(only("WriteSlots", plannedEvacuations(waiting))).toMatchObject([{ slots: [] }]);
    const last = plannedEvacuations(reserved({ since: time(-200), attempts: 4 }, small));
    expect(verbs(last)).toEqual(["Unmark", "Event", "Event"]);
  });

  test("pods that have not been counted are in nobody's way", () => {
    expect(plannedEvacuations(reserved({ since: time(-999) }, { activePods: new Map() }))).toEqual([]);
  });
});

/**
 * Which evacuations are in progress, by what is written on a pod and in the register.
 */
import { describe, expect, test } from "vitest";
import { inProgressAmong, isEvacuated, keptReservations } from "../../../shared/descheduling/cycle/in-progress.ts";
import { reservationOf } from "../../../shared/descheduling/cycle/register.ts";
import { at, NOW, time } from "../../policy/fixtures.ts";
import { IN_PROGRESS, plainPod, REQUEST_ONLY, REQUESTED, vmPod } from "../worlds.ts";

const TTL = 600;
const only = { [REQUEST_ONLY]: "" };

// prettier-ignore
const rows: readonly (readonly [what: string, annotations: Record<string, string>, phase: string, reserved: boolean, counts: boolean])[] = [
  ["nothing said",                      only,                                                       "Running",   false, false],
  ["in progress",                       { ...only, [IN_PROGRESS]: "true" },                         "Running",   false, true ],
  ["in progress, in KubeVirt 1.6",      { ...only, [IN_PROGRESS]: "kubevirt" },                     "Running",   false, true ],
  ["in progress, but not to be asked",  { [IN_PROGRESS]: "true" },                                  "Running",   false, false],
  ["requested now",                     { ...only, [REQUESTED]: time(0) },                          "Running",   false, true ],
  ["requested a TTL ago",               { ...only, [REQUESTED]: time(-TTL) },                       "Running",   false, true ],
  ["requested longer ago",              { ...only, [REQUESTED]: time(-TTL - 1) },                   "Running",   false, false],
  ["longer ago, and confirmed",         { ...only, [REQUESTED]: time(-9 * TTL), [IN_PROGRESS]: "" }, "Running",  false, true ],
  ["requested by a clock ahead",        { ...only, [REQUESTED]: time(59) },                         "Running",   false, true ],
  ["requested in the future",           { ...only, [REQUESTED]: time(61) },                         "Running",   false, false],
  ["requested at no time",              { ...only, [REQUESTED]: "soon" },                           "Running",   false, false],
  ["reserved",                          only,                                                       "Running",   true,  true ],
  ["pending, in progress",              { ...only, [IN_PROGRESS]: "true" },                         "Pending",   false, true ],
  ["ended, in progress",                { ...only, [IN_PROGRESS]: "true" },                         "Succeeded", false, false],
  ["failed, requested",                 { ...only, [REQUESTED]: time(0) },                          "Failed",    false, false],
  ["failed, reserved",                  only,                                                       "Failed",    true,  false],
];

test.each(rows)("%s: %s %s reserved=%s -> %s", (...[, annotations, phase, reserved, counts]) => {
  const pod = { ...plainPod("p"), annotations, phase };
  const reservations = reserved ? [reservationOf(pod, NOW)] : [];
  const found = inProgressAmong({ pods: [pod], reservations, requestTtlSeconds: TTL, now: NOW });
  expect(found).toEqual(counts ? [pod] : []);
});

// prettier-ignore
const reservations: readonly (readonly [what: string, age: number, annotations: Record<string, string>, kept: boolean])[] = [
  ["just made",                          0,        only,                                 true ],
  ["as old as a request may be",         TTL,      only,                                 true ],
  ["older",                              TTL + 1,  only,                                 false],
  ["written on the pod by now",          1,        { ...only, [REQUESTED]: time(-1) },   false],
  ["an expired request is on the pod",   1,        { ...only, [REQUESTED]: time(-999) }, true ],
  ["confirmed by now",                   1,        { ...only, [IN_PROGRESS]: "true" },   false],
];

describe("a reservation", () => {
  const settings = { requestTtlSeconds: TTL, now: NOW };

  test.each(reservations)("%s: kept=%4$s", (_, age, annotations, kept) => {
    const pod = { ...plainPod("p"), annotations };
    const entry = reservationOf(pod, at(-age));
    expect(keptReservations({ ...settings, pods: [pod], reservations: [entry] })).toEqual(kept ? [entry] : []);
  });

  test("goes with its pod", () => {
    expect(keptReservations({ ...settings, pods: [], reservations: [reservationOf(vmPod("gone"), NOW)] })).toEqual([]);
  });
});

test("who is only asked: pods that say so, and launchers whether they say it or not", () => {
  expect(isEvacuated(plainPod("p"))).toBe(false);
  expect(isEvacuated(plainPod("p", { annotations: only }))).toBe(true);
  expect(isEvacuated({ ...vmPod("vm"), annotations: {} })).toBe(true);
  expect(isEvacuated({ ...vmPod("vm"), annotations: {}, phase: "Succeeded" })).toBe(false);
});

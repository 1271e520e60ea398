/** Which evacuations are in progress, by what is written on a pod; cycle.test.ts has those that an Evacuation tells of. */
import { expect, test } from "vitest";
import { inProgressAmong, isEvacuated } from "../../../../shared/descheduling/cycle/in-progress.ts";
import { newborn, NOW, time } from "../../../support/fixtures.ts";
import { IN_PROGRESS, plainPod, REQUEST_ONLY, REQUESTED, vmiOf, vmPod } from "../../../support/descheduling/worlds.ts";

const TTL = 600;
const only = { [REQUEST_ONLY]: "" };

// prettier-ignore
const rows: readonly (readonly [what: string, annotations: Record<string, string>, phase: string, counts: boolean])[] = [
  ["nothing said",                      only,                                                       "Running",   false],
  ["in progress",                       { ...only, [IN_PROGRESS]: "true" },                         "Running",   true ],
  ["in progress, but not to be asked",  { [IN_PROGRESS]: "true" },                                  "Running",   false],
  ["requested now",                     { ...only, [REQUESTED]: time(0) },                          "Running",   true ],
  ["requested a TTL ago",               { ...only, [REQUESTED]: time(-TTL) },                       "Running",   true ],
  ["requested longer ago",              { ...only, [REQUESTED]: time(-TTL - 1) },                   "Running",   false],
  ["longer ago, and confirmed",         { ...only, [REQUESTED]: time(-9 * TTL), [IN_PROGRESS]: "" }, "Running",  true ],
  ["requested by a clock ahead",        { ...only, [REQUESTED]: time(59) },                         "Running",   true ],
  ["requested in the future",           { ...only, [REQUESTED]: time(61) },                         "Running",   false],
  ["ended, in progress",                { ...only, [IN_PROGRESS]: "true" },                         "Succeeded", false],
];

test.each(rows)("%s: %s %s -> %s", (...[, annotations, phase, counts]) => {
  const pod = { ...plainPod("p"), annotations, phase };
  const facts = { vmis: new Map(), evacuations: [], policy: { requestTtlSeconds: TTL }, now: NOW };
  expect(inProgressAmong({ ...facts, pods: [pod] })).toEqual(counts ? [pod] : []);
});

test("an Evacuation is about one pod of its own VM", () => {
  const pods = [
    vmPod("web"),
    vmPod("web", { name: "target", uid: "pod-target" }),
    vmPod("db"),
    vmPod("web", { namespace: "shop" }),
  ];
  const evacuations = [newborn({ spec: { vmiName: "web", pod: { uid: "pod-web" } } })];
  const vmis = new Map(
    [vmPod("web"), vmPod("db")].map((pod) => [`apps/${pod.annotations["kubevirt.io/domain"]}`, vmiOf(pod)]),
  );
  expect(inProgressAmong({ pods, vmis, evacuations, policy: { requestTtlSeconds: TTL }, now: NOW })).toEqual(
    pods.slice(0, 1),
  );
});

test("who is only asked: pods that say so, and launchers whether they say it or not", () => {
  expect(isEvacuated(plainPod("p"))).toBe(false);
  expect(isEvacuated(plainPod("p", { annotations: only }))).toBe(true);
  expect(isEvacuated({ ...vmPod("vm"), annotations: {} })).toBe(true);
  expect(isEvacuated({ ...vmPod("vm"), annotations: {}, phase: "Succeeded" })).toBe(false);
});

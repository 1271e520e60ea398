/** Taints and tolerations, as Kubernetes matches them. */
import { expect, test } from "vitest";
import type { Taint, Toleration } from "../../../shared/policy/facts.ts";
import { tolerates, untolerated } from "../../../shared/policy/kube/tolerations.ts";

const TAINT: Taint = { key: "hardware", value: "gpu", effect: "NoSchedule" };
const BARE: Taint = { key: "hardware", effect: "NoSchedule" };

// prettier-ignore
test.each([
  // toleration                                                                        hardware=gpu  hardware
  [{ key: "hardware", value: "gpu", effect: "NoSchedule" },                            true,         false],
  [{ key: "hardware", operator: "Equal", value: "gpu", effect: "NoSchedule" },         true,         false],
  [{ key: "hardware", value: "gpu" },                                                  true,         false],
  [{ key: "hardware", value: "gpu", effect: "NoExecute" },                             false,        false],
  [{ key: "hardware", value: "cpu" },                                                  false,        false],
  [{ key: "hardware" },                                                                false,        true],
  [{ key: "hardware", operator: "Exists" },                                            true,         true],
  [{ key: "hardware", operator: "Exists", effect: "PreferNoSchedule" },                false,        false],
  [{ key: "hard", operator: "Exists" },                                                false,        false],
  [{ operator: "Exists" },                                                             true,         true],
  [{ operator: "Exists", effect: "NoSchedule" },                                       true,         true],
  [{ operator: "Exists", effect: "NoExecute" },                                        false,        false],
  [{ value: "gpu" },                                                                   false,        false],
  [{ key: "hardware", operator: "Exists", tolerationSeconds: 5 },                      true,         true],
] as const satisfies readonly (readonly [Toleration, boolean, boolean])[])("%j: %s, %s", (toleration, valued, bare) => {
  expect([tolerates(toleration, TAINT), tolerates(toleration, BARE)]).toEqual([valued, bare]);
});

const OTHER: Taint = { key: "other", effect: "NoExecute" };

// prettier-ignore
test.each([
  ["no taints",                 [],             [],                                                                 undefined],
  ["no tolerations",            [TAINT, OTHER], [],                                                                 TAINT],
  ["tolerations not given",     [TAINT],        undefined,                                                          TAINT],
  ["the first is tolerated",    [TAINT, OTHER], [{ key: "hardware", operator: "Exists" }],                          OTHER],
  ["one tolerates both",        [TAINT, OTHER], [{ operator: "Exists" }],                                           undefined],
  ["one each",                  [TAINT, OTHER], [{ key: "other" }, { key: "hardware", value: "gpu" }],              undefined],
] as const)("the first that is not tolerated: %s", (_, taints, tolerations, expected) => {
  expect(untolerated(taints, tolerations)).toEqual(expected);
});

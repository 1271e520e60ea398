/** Tests which taints a pod tolerates, which taints evict a pod, and which taints show that the node is lost. */
import { describe, expect, test } from "vitest";
import type { NodeFacts, Taint, Toleration } from "../../../shared/kube/facts.ts";
import { node, pod, settings } from "../../support/fixtures.ts";
import {
  carriesDrainTaint,
  DEAD_NODE_TAINTS,
  drivingTaint,
  isAlive,
  untolerated,
} from "../../../shared/kube/objects.ts";
import { tolerates } from "../../../shared/kube/tolerations.ts";

const TAINT: Taint = { key: "hardware", value: "gpu", effect: "NoSchedule" };
const BARE: Taint = { key: "hardware", effect: "NoSchedule" };
const OTHER: Taint = { key: "other", effect: "NoExecute" };

// prettier-ignore
test.each<[Toleration, boolean, boolean]>([
  // toleration                                                                        hardware=gpu  hardware
  [{ key: "hardware", value: "gpu", effect: "NoSchedule" },                            true,         false],
  [{ key: "hardware", value: "gpu", effect: "NoExecute" },                             false,        false],
  [{ key: "hardware", value: "cpu" },                                                  false,        false],
  [{ key: "hardware" },                                                                false,        true],
  [{ key: "hardware", operator: "Exists" },                                            true,         true],
  [{ key: "hardware", operator: "Exists", effect: "PreferNoSchedule" },                false,        false],
  [{ key: "hard", operator: "Exists" },                                                false,        false],
  [{ operator: "Exists" },                                                             true,         true],
  [{ operator: "Exists", effect: "NoExecute" },                                        false,        false],
  [{ value: "gpu" },                                                                   false,        false],
])("%j tolerates hardware=gpu: %s, and hardware: %s", (toleration, valued, bare) => {
  expect([tolerates(toleration, TAINT), tolerates(toleration, BARE)]).toEqual([valued, bare]);
});

// prettier-ignore
test.each([
  // taint     operator   toleration  is tolerated
  ["950",      "Gt",      "750",      true ],
  ["950",      "Gt",      "950",      false],
  ["800",      "Gt",      "950",      false],
  ["-5",       "Lt",      "0",        true ],
  ["10",       "Lt",      "9",        false],
  ["gpu",      "Gt",      "1",        false],
  ["5",        "Lt",      "many",     false],
  ["5",        "Unknown", "5",        false],
  ["5",        "toString", "5",       false],
])("the taint tier=%s is tolerated by %s %s: %s", (taint, operator, value, isTolerated) => {
  const effect = "NoExecute";
  expect(tolerates({ key: "tier", operator, value }, { key: "tier", value: taint, effect })).toBe(isTolerated);
});

// prettier-ignore
test.each<[string, readonly Taint[], readonly Toleration[] | undefined, Taint | undefined]>([
  ["with the first tolerated",    [TAINT, OTHER], [{ key: "hardware", operator: "Exists" }],                          OTHER],
  ["with one toleration each",    [TAINT, OTHER], [{ key: "other" }, { key: "hardware", value: "gpu" }],              undefined],
])("the first untolerated taint, %s", (_, taints, tolerations, expected) => {
  expect(untolerated(taints, tolerations)).toEqual(expected);
});

// prettier-ignore
test.each<[string, readonly Taint[], Toleration, driven: boolean]>([
  ["tolerated without a time",       [OTHER],                                { key: "other", operator: "Exists" },      false],
  ["tolerated for some seconds",     [OTHER],                                { operator: "Exists", tolerationSeconds: 9 }, true],
  ["of another effect",              [TAINT],                                { key: "x" },                              false],
  ["of a node that is down",         DEAD_NODE_TAINTS.map((key) => ({ key, effect: "NoExecute" })), { key: "x" },       false],
])("a taint that is %s evicts the pod: $3", (...[, taints, toleration, driven]) => {
  expect(drivingTaint(node({ taints }), pod({ tolerations: [toleration] })) !== undefined).toBe(driven);
  expect(drivingTaint(undefined, pod())).toBeUndefined();
});

describe("is a node alive?", () => {
  // prettier-ignore
  test.each<[string, NodeFacts | undefined, boolean]>([
    ["ready",                       node(),                                                                  true],
    ["cordoned and under pressure", node({ unschedulable: true, pressures: ["MemoryPressure"] }),            true],
    ["gone",                        undefined,                                                               false],
  ])("a %s node: %s", (_, subject, expected) => expect(isAlive(subject)).toBe(expected));

  test.each(["not-ready", "unreachable", "out-of-service"])("a node with the taint %s of any effect: false", (name) => {
    for (const effect of ["NoSchedule", "NoExecute"]) {
      expect(isAlive(node({ taints: [{ key: `node.kubernetes.io/${name}`, effect }] }))).toBe(false);
    }
  });
});

test.each([
  ["kubevirt.io/drain", "NoSchedule", true],
  ["other", "NoSchedule", false],
])("%s:%s is the drain taint: %s", (key, effect, expected) => {
  expect(carriesDrainTaint(node({ taints: [{ key, effect }] }), settings())).toBe(expected);
});

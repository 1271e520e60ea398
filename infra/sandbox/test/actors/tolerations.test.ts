/** How long a pod may stay on a node with NoExecute taints. */
import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../actors/resources.ts";
import { toleratedFor } from "../../actors/tolerations.ts";

type Taints = NonNullable<NonNullable<Node["spec"]>["taints"]>;
type Tolerations = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>;

describe("how long a pod may stay", () => {
  const a: Taints = [{ key: "a", value: "x", effect: "NoExecute" }];
  const both: Taints = [...a, { key: "b", effect: "NoExecute" }];

  // prettier-ignore
  const rows: readonly (readonly [what: string, tolerations: Tolerations, taints: Taints, seconds: number])[] = [
    ["no taint",                                   [],                                                          [],   Infinity],
    ["no toleration",                              [],                                                          a,    0       ],
    ["the key exists",                             [{ key: "a", operator: "Exists" }],                          a,    Infinity],
    ["the value is equal",                         [{ key: "a", value: "x" }],                                  a,    Infinity],
    ["the value is another",                       [{ key: "a", value: "y" }],                                  a,    0       ],
    ["another effect",                             [{ key: "a", operator: "Exists", effect: "NoSchedule" }],    a,    0       ],
    ["for some time",                              [{ key: "a", operator: "Exists", tolerationSeconds: 60 }],   a,    60      ],
    ["for no time, or less",                       [{ key: "a", operator: "Exists", tolerationSeconds: -1 }],   a,    0       ],
    ["one of two taints",                          [{ key: "a", operator: "Exists" }],                          both, 0       ],
    ["the shortest time of all taints",            [{ key: "a", operator: "Exists", tolerationSeconds: 60 }, { key: "b", operator: "Exists", tolerationSeconds: 30 }], both, 30],
    ["the first toleration that fits is the one",  [{ key: "a", operator: "Exists", tolerationSeconds: 60 }, { operator: "Exists" }],                                   a,    60],
    ["everything",                                 [{ operator: "Exists" }],                                    both, Infinity],
  ];
  test.each(rows)("%s", (_, tolerations, taints, seconds) => {
    const metadata = { name: "pod", uid: "1", resourceVersion: "1", creationTimestamp: "" };
    expect(toleratedFor({ metadata, spec: { containers: [], tolerations } }, taints)).toBe(seconds);
  });
});

/** Tests the eviction thresholds, and the order in which a kubelet evicts pods. */
import { describe, expect, test } from "vitest";
import { messageFor, rank } from "../../actors/pressure-ranking.ts";
import {
  DEFAULT_EVICTION,
  durationMs,
  isMet,
  thresholdsOf,
  type EvictionConfiguration,
} from "../../actors/pressure-thresholds.ts";
import { parseQuantity } from "../../actors/quantity.ts";
import type { Pod } from "../../actors/resources.ts";

// prettier-ignore
const QUANTITIES: readonly (readonly [quantity: string, value: number])[] = [
  ["0", 0], ["100", 100], ["100m", 0.1], ["1.5", 1.5], ["1k", 1_000], ["1Ki", 1_024], ["1.5Gi", 1_610_612_736], ["1e3", 1_000], ["2T", 2e12],
];
test.each(QUANTITIES)("the quantity %s is %d", (quantity, value) => expect(parseQuantity(quantity)).toBeCloseTo(value));

test.each([
  ["30s", 30_000],
  ["1m30s", 90_000],
  ["2h", 7_200_000],
  ["500ms", 500],
] as const)("the duration %s is %d ms", (duration, ms) => expect(durationMs(duration)).toBe(ms));

describe("with 10Gi of memory and 100Gi of disk", () => {
  const capacity = { "memory.available": "10Gi", "nodefs.available": "100Gi", "pid.available": "1000" } as const;
  type Signal = keyof typeof capacity;
  const observed = (signal: Signal, available: string) => {
    const all = {
      "memory.available": "10Gi",
      "nodefs.available": "100Gi",
      "pid.available": "1000",
      [signal]: available,
    };
    const of = (one: Signal) => ({ available: parseQuantity(all[one]), capacity: parseQuantity(capacity[one]) });
    return {
      "memory.available": of("memory.available"),
      "nodefs.available": of("nodefs.available"),
      "pid.available": of("pid.available"),
    };
  };
  const soft: EvictionConfiguration = {
    evictionSoft: { "memory.available": "1Gi", "pid.available": "20%" },
    evictionSoftGracePeriod: { "memory.available": "90s" },
  };

  // prettier-ignore
  const rows: readonly (readonly [signal: Signal, available: string, configuration: EvictionConfiguration, met: readonly string[]])[] = [
    ["memory.available", "100Mi", {},   []                                ],
    ["memory.available", "99Mi",  {},   ["100Mi hard"]                    ],
    ["memory.available", "1Gi",   soft, []                                ],
    ["memory.available", "1023Mi", soft, ["1Gi soft after 90000 ms"]      ],
    ["memory.available", "50Mi",  soft, ["100Mi hard", "1Gi soft after 90000 ms"]],
    ["nodefs.available", "10Gi",  {},   []                                ],
    ["nodefs.available", "9Gi",   {},   ["10% hard"]                      ],
    ["pid.available",    "199",   {},   []                                ],
    ["pid.available",    "199",   soft, ["20% soft after 0 ms"]           ],
    ["memory.available", "50Mi",  { evictionHard: {} }, []                ],
  ];
  test.each(rows)("%s at %s meets the thresholds %j", (signal, available, configuration, met) => {
    const all = thresholdsOf({ ...DEFAULT_EVICTION, ...configuration });
    const found = all.filter((threshold) => isMet(threshold, observed(signal, available)));
    const texts = found.map(
      ({ quantity, isHard, graceMs }) => `${quantity} ${isHard ? "hard" : `soft after ${graceMs} ms`}`,
    );
    expect(texts).toEqual(met);
  });
});

/** Makes a pod. For example, `a:5 2/3` is pod a with priority 5, which requests 2Gi and uses 3Gi. */
function pod(text: string): Pod {
  const { name = "", priority, request } = /^(?<name>\w+):(?<priority>\d+) (?<request>\d+)/.exec(text)?.groups ?? {};
  return {
    metadata: { name, uid: text, resourceVersion: "1", creationTimestamp: "" },
    spec: {
      priority: Number(priority),
      containers: [{ name: "main", resources: { requests: { memory: `${request}Gi` } } }],
    },
  };
}
const usage = ({ metadata }: Pod) => Number(metadata.uid.split("/")[1]) * 2 ** 30;

describe("the kubelet evicts first", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, pods: readonly string[], order: string])[] = [
    ["a pod above its request",                         ["a:0 4/2", "b:9 1/2"],            "b a"],
    ["among pods above their request, a pod of lower priority",             ["a:9 1/9", "b:0 1/2"],            "b a"],
    ["among equal priorities, the pod furthest above its request",         ["a:0 1/2", "b:0 1/5", "c:0 1/3"], "b c a"],
    ["among pods below their request, a pod of lower priority",   ["a:9 4/1", "b:0 4/1"],            "b a"],
    ["never a critical pod",                            ["a:2000000000 1/9", "b:0 1/1"],   "b"],
  ];
  test.each(rows)("%s", (_, pods, order) => {
    const ranked = rank(pods.map(pod), "memory.available", usage);
    expect(ranked.map(({ metadata }) => metadata.name).join(" ")).toBe(order);
  });

  test("if disk is scarce, a pod without disk requests, even if its priority is higher", () => {
    const [modest, other] = ["a:0 1/9", "b:9 4/1"].map(pod);
    if (modest === undefined || other === undefined) throw new Error("no pods");
    const requests = { "ephemeral-storage": "50M" };
    const asking = { ...modest, spec: { ...modest.spec, containers: [{ name: "main", resources: { requests } }] } };
    const orders = (["nodefs.available", "pid.available"] as const).map((signal) =>
      rank([asking, other], signal, usage).map(({ metadata }) => metadata.name),
    );
    expect(orders).toEqual([
      ["b", "a"],
      ["a", "b"],
    ]);
  });

  test("if disk is scarce, a pod of lower priority, even if another pod uses more memory", () => {
    const ranked = rank(["a:1 1/9", "b:0 4/1"].map(pod), "nodefs.available", usage);
    expect(ranked.map(({ metadata }) => metadata.name)).toEqual(["b", "a"]);
  });
});

describe("the message of an eviction", () => {
  const [hard] = thresholdsOf(DEFAULT_EVICTION);
  const observation = { available: 50 * 2 ** 20, capacity: 10 * 2 ** 30 };
  const low = "The node was low on resource: memory. Threshold quantity: 102400Ki, available: 51200Ki. ";
  const uses = "Container main was using 3145728Ki, request is 2097152Ki, has larger consumption of memory. ";

  // prettier-ignore
  const rows = [
    ["a:0 2/3", low + uses],
    ["a:0 2/1", low       ],
  ] as const;
  test.each(rows)("of %s is: %s", (text, message) => {
    if (hard === undefined) throw new Error("no default threshold");
    expect(messageFor(pod(text), hard, observation, usage)).toBe(message);
  });
});

/** Tests which victims preemption chooses. Each row is a rule of kube-scheduler. */
import { describe, expect, test } from "vitest";
import { cheapest, findVictims, type Candidate } from "../../actors/preemption-victims.ts";
import type { Node, Pod, PodDisruptionBudget } from "../../actors/resources.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

/**
 * Makes a pod. For example, `a:0/4` is pod a with priority 0 and a memory request of 4Gi. `@10` means that the pod
 * started 10 s after `START`.
 */
function pod(text: string): Pod {
  const {
    name = "",
    priority,
    memory,
    after = "0",
  } = /^(?<name>\w+):(?<priority>-?\d+)\/(?<memory>\d+)(?:@(?<after>\d+))?$/.exec(text)?.groups ?? {};
  const startTime = new Date(START + Number(after) * 1000).toISOString();
  return {
    metadata: {
      name,
      namespace: "default",
      uid: name,
      resourceVersion: "1",
      creationTimestamp: startTime,
      labels: { name },
    },
    spec: {
      priority: Number(priority),
      containers: [{ name: "main", resources: { requests: { memory: `${memory}Gi` } } }],
    },
    status: { startTime },
  };
}

function node(name: string, memory = "10Gi"): Node {
  return {
    metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { allocatable: { memory, cpu: "4", pods: "10" }, conditions: [{ type: "Ready", status: "True" }] },
  };
}

function budget(podName: string, disruptionsAllowed: number): PodDisruptionBudget {
  return {
    metadata: { name: podName, namespace: "default", uid: podName, resourceVersion: "1", creationTimestamp: "" },
    spec: { selector: { matchLabels: { name: podName } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  };
}

describe("on one node of 10Gi, for a pod of priority 100, the victims are", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, pods: readonly [wanted: string, there: string], kept: string, victims: string | undefined])[] = [
    ["none if no pod has a lower priority",                                 ["p:100/4", "a:100/8"],               "",    undefined],
    ["none if the pod would not fit even without pods of lower priority",    ["p:100/4", "a:100/8 b:0/2"],         "",    undefined],
    ["only as many as needed",                                              ["p:100/4", "a:0/4 b:0/4"],           "",    "b"      ],
    ["the pods of lowest priority",                                         ["p:100/4", "a:10/4 b:20/4"],         "",    "a"      ],
    ["the pod that started last, among equal priorities", ["p:100/4", "a:0/4@60 b:0/4@30"],     "",    "a"      ],
    ["two pods of low priority instead of one of higher priority", ["p:100/4", "a:20/5 b:10/2 c:10/3"],  "",    "b c"    ],
    ["the pods that do not fit beside the new pod and a spared pod of higher priority", ["p:100/6", "a:30/4 b:20/4 c:10/2"],  "",    "b c"    ],
    ["not the pod of a budget, although its priority is lower", ["p:100/4", "a:0/4 b:50/4"],          "a",   "b"      ],
    ["also the pod of a budget if the new pod would otherwise not fit",    ["p:100/8", "a:0/4 b:50/4"],          "a",   "b a"    ],
  ];
  test.each(rows)("%s", (_, [wanted, there], kept, victims) => {
    const neighbours = there.split(" ").map(pod);
    const budgets = kept
      .split(" ")
      .filter(Boolean)
      .map((name) => budget(name, 0));
    const found = findVictims(pod(wanted), { node: node("n"), neighbours, budgets });
    expect(found?.victims.map(({ metadata }) => metadata.name).join(" ")).toBe(victims);
  });

  test("a budget that allows one disruption is violated only if two of its pods are victims", () => {
    const [neighbours, labels] = [["a:0/4", "b:0/4"].map(pod), { name: "both" }];
    for (const { metadata } of neighbours) metadata.labels = labels;
    const violations = (wanted: string) =>
      findVictims(pod(wanted), { node: node("n"), neighbours, budgets: [budget("both", 1)] })?.violations;
    expect(violations("p:100/4")).toBe(0);
    expect(violations("p:100/9")).toBe(1);
  });
});

const on = (name: string, victims: string, violations = 0): Candidate => ({
  node: name,
  victims: victims.split(" ").map(pod),
  violations,
});

describe("between two nodes, the scheduler prefers", () => {
  // prettier-ignore
  const rows: readonly (readonly [what: string, better: Candidate, worse: Candidate])[] = [
    ["fewer violated budgets",                                   on("n2", "a:50/1 b:50/1"),  on("n1", "a:0/1", 1)       ],
    ["then victims whose highest priority is lower",             on("n2", "a:10/1 b:10/1"),  on("n1", "a:20/1")         ],
    ["then a lower sum of priorities",                           on("n2", "a:10/1"),         on("n1", "a:10/1 b:-5/1")  ],
    ["then victims that started later",                          on("n2", "a:10/1@60"),      on("n1", "a:10/1@30")      ],
    ["then victims that started later, not counting victims of lower priority", on("n2", "a:10/1@60 b:5/1"), on("n1", "a:10/1@30 b:5/1@90")],
    ["then the first node",                                      on("n1", "a:10/1"),         on("n2", "a:10/1")         ],
  ];
  test.each(rows)("%s", (_, better, worse) => {
    expect(cheapest([better, worse])?.node).toBe(better.node);
    expect(cheapest([worse, better])?.node).toBe(better.node);
  });
});

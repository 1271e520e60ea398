/** Deletions that do not ask, cell by cell: strategy × migratable × cause × gate × requester. */
import { describe, expect, test } from "vitest";
import { GUARD } from "../../../shared/policy/guard/deletion-table.ts";
import { GATE_OF_CAUSE, GUARD_CAUSES } from "../../../shared/policy/guard/disruption-cause.ts";
import { EVICTION_STRATEGIES, type EvictionStrategy, type Mobility } from "../../../shared/policy/strategy.ts";
import {
  answerTo,
  GATES,
  guarded,
  held,
  NODE_CONTROLLER,
  REQUESTER,
  SCHEDULER,
  TAINT_CONTROLLER,
  target,
} from "./disruptions.ts";
import { MOBILITY, NODE, only, POD_UID, settings, time, verbs, vmi, without } from "../fixtures.ts";

type Row = readonly [EvictionStrategy, Mobility, answer: string];

// prettier-ignore
const rows: readonly Row[] = [
  // strategy                VMI is        answer
  ["None",                  "migratable", "StrategyNone"],
  ["None",                  "pinned",     "StrategyNone"],
  ["LiveMigrate",           "migratable", "Hold"],
  ["LiveMigrate",           "pinned",     "NotMigratable"],
  ["LiveMigrateIfPossible", "migratable", "Hold"],
  ["LiveMigrateIfPossible", "pinned",     "NotMigratable"],
  ["External",              "migratable", "Hold"],
  ["External",              "pinned",     "Hold"],
];

const REQUESTERS = [
  ["the scheduler", SCHEDULER],
  ["the node controller", NODE_CONTROLLER],
  ["the taint eviction controller", TAINT_CONTROLLER],
  ["an administrator", "kubernetes-admin"],
  ["virt-controller", "system:serviceaccount:kubevirt:kubevirt-controller"],
  ["the namespace controller", "system:serviceaccount:kube-system:namespace-controller"],
  ["a kubelet", `system:node:${NODE}`],
  ["a namesake in another namespace", "system:serviceaccount:apps:node-controller"],
  ["a nameless user", ""],
] as const;

const cells = rows.flatMap((row) =>
  GUARD_CAUSES.flatMap((cause) =>
    (["on", "off"] as const).map((gate) => {
      const [evictionStrategy, mobility, expected] = row;
      return { evictionStrategy, mobility, expected, cause, gate };
    }),
  ),
);

describe.each(cells)("$evictionStrategy, $mobility: $expected; $cause, gate $gate", (cell) => {
  const { evictionStrategy, mobility, expected, cause, gate } = cell;
  const subject = vmi({ evictionStrategy, liveMigratable: MOBILITY[mobility] });
  const others = GATES.filter((name) => name !== GATE_OF_CAUSE[cause]);
  const given = {
    vmi: subject,
    pod: target(cause),
    settings: guarded({}, gate === "on" ? {} : { featureGates: others }),
  };

  test.each(REQUESTERS)("%s", (_, requester) => {
    const listed = guarded().guard.requesters.includes(requester);
    expect(answerTo({ ...given, requester })).toBe(
      !listed ? "OtherRequester" : gate === "off" ? "NotADisruption" : expected,
    );
  });

  test("the same when the KubeVirt CR says so and the VM nothing", () => {
    const silent = without(subject, "evictionStrategy");
    const ofCluster = { ...given.settings, clusterStrategy: evictionStrategy };
    const requester = REQUESTER[cause];
    expect(answerTo({ ...given, vmi: silent, settings: ofCluster, requester })).toBe(answerTo({ ...given, requester }));
  });
});

test("the rows cover every cell of the table, and say what it says", () => {
  const table = EVICTION_STRATEGIES.flatMap((s) => (["migratable", "pinned"] as const).map((m) => [s, m, GUARD[s][m]]));
  const said = rows.map(([s, m, answer]) => [s, m, answer === "Hold" ? "hold" : "release"]);
  expect(said).toEqual(table);
});

test("the list of requesters is the administrator's", () => {
  const given = { requester: "system:kube-controller-manager", pod: target("NoExecuteTaint") };
  expect(answerTo(given)).toBe("OtherRequester");
  expect(answerTo({ ...given, settings: guarded({ requesters: [given.requester] }) })).toBe("Hold");
});

test("with no gate on, as by default, nothing is held", () => {
  expect(answerTo({ settings: settings() })).toBe("NotADisruption");
});

describe("the mark", () => {
  test.each([
    ["Preemption", "urgent", 120],
    ["NoExecuteTaint", "normal", 300],
  ] as const)("for %s is %s, and the Evacuation tells pod and deadline", (cause, urgency, seconds) => {
    const observed = vmi();
    const { actions, story } = held({ vmi: observed, pod: target(cause), requester: REQUESTER[cause] });
    const spec = {
      vmiName: "web",
      cause,
      requestedBy: REQUESTER[cause],
      intent: "Evacuate",
      deadline: time(seconds),
      pod: { name: "virt-launcher-web-x7k2p", uid: POD_UID },
    };
    const name = expect.stringMatching(/^web-[0-9a-f]{8}-1$/);
    expect(only("CreateEvacuation", actions)).toEqual([
      { verb: "CreateEvacuation", evacuation: { namespace: "apps", name, spec } },
    ]);
    expect(only("Mark", actions)).toEqual([{ verb: "Mark", vmi: observed, urgency }]);
    expect(verbs(story)).toEqual(["Event"]);
    expect(story[0]).toMatchObject({ type: "Normal", reason: "DisruptionHeld" });
  });

  test("External, pinned: marked too, for its owner to act on", () => {
    const external = vmi({ evictionStrategy: "External", liveMigratable: MOBILITY.pinned });
    expect(verbs(held({ vmi: external }).actions)).toEqual(["CreateEvacuation", "Mark"]);
  });

  test("what the caller is told names pod, cause, VM and deadline", () => {
    expect(held({}).message).toBe(
      `deletion of pod "virt-launcher-web-x7k2p" (cause Preemption) waits until VMI "apps/web" has moved, until ${time(120)} at the longest`,
    );
  });
});

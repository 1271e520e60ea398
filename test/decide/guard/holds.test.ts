/**
 * Tests whether the guard's policies in the API server refuse a deletion, and how an installation adapts the policies
 * to a cluster.
 */
import { describe, expect, test } from "vitest";
import { fitPolicy, type GuardSite, isPolicyPlanned } from "../../../infra/cli/install/guard.ts";
import { clockOf } from "../../../infra/cli/install/hold-clock.ts";
import { manifestsIn, PARTS } from "../../../infra/cli/install/manifests.ts";
import { HOLD_NODE_END, HOLD_PREEMPTION, HOLD_TAINTS, LAUNCHERS_POLICY } from "../../../shared/kube/names.ts";
import { HOLD_POLICIES, type HoldPolicy, holdVerdict } from "../../../shared/settings/holds.ts";
import { gatesBut, guarded } from "../../support/guard/disruptions.ts";

// prettier-ignore
test.each<[string, settings: Parameters<typeof holdVerdict>[1], installed: readonly HoldPolicy[], reason: string | undefined]>([
  ["if all policies are installed, they hold",                                          guarded({}, { handlerToleratesNoExecute: true }), HOLD_POLICIES,                              "Holds"],
  ["if a NoExecute taint ends virt-handler, its policy may not hold",                   guarded(),                                        HOLD_POLICIES,                              "HandlerEndsWithTaint"],
  ["if no gate is about taints, it does not matter that they end virt-handler",         guarded({}, { featureGates: gatesBut("NoExecuteTaint") }), [HOLD_PREEMPTION, HOLD_NODE_END, LAUNCHERS_POLICY], "Holds"],
  ["if a policy is missing, the cluster is not held",                                   guarded(),                                        [HOLD_TAINTS, HOLD_NODE_END, LAUNCHERS_POLICY], "PolicyMissing"],
  ["if the policy about creators of launcher pods is missing, the cluster is not held", guarded(),                                        [HOLD_PREEMPTION, HOLD_TAINTS, HOLD_NODE_END],  "PolicyMissing"],
  ["if no policy is installed, the cluster is not held",                                guarded(),                                        [],                                         "PolicyMissing"],
  ["if a gate is off, its policy should not be installed",                              guarded({}, { featureGates: gatesBut("NoExecuteTaint") }), HOLD_POLICIES,                     "PolicyWithoutGate"],
  ["if all gates are off, no policy should be installed",                               guarded({}, { featureGates: [] }),                [LAUNCHERS_POLICY],                         "PolicyWithoutGate"],
  ["if all gates are off and no policy is installed, nothing is reported",              guarded({}, { featureGates: [] }),                [],                                         undefined],
])("%s", (_, settings, installed, reason) => expect(holdVerdict(new Set(installed), settings)?.reason).toBe(reason));

test.each([
  [2, 90],
  [10, 80],
  [26, 32],
  [30, 20],
  [31, undefined],
])("a Lease that is renewed every %d s makes the policy hold for %s s", (renewal, seconds) => {
  expect(clockOf("kube-controller-manager", renewal)?.holdSeconds).toBe(seconds);
});

describe("the policies of a cluster", () => {
  const clock = { namespace: "kube-system", name: "apiserver-x", holdSeconds: 32 };
  const site: GuardSite = {
    kubevirtNamespace: "openshift-cnv",
    featureGates: guarded().featureGates,
    requesters: ["system:kube-scheduler", "o'hara"],
    nodeTerminators: ["ender"],
    clock,
  };
  const shipped = PARTS.filter(({ name }) => name === "guard").flatMap(({ files }) => files.flatMap(manifestsIn));
  const textOf = (name: string, of: GuardSite = site) =>
    shipped.flatMap((one) => (one.metadata.name === name ? [JSON.stringify(fitPolicy(one, of))] : [])).join();

  // prettier-ignore
  test.each([
    [HOLD_PREEMPTION,  ["system:kube-scheduler', 'o\\\\'hara'", "duration('32s')", '"name":"apiserver-x"']],
    [HOLD_TAINTS,      ["system:kube-scheduler', 'o\\\\'hara'"]],
    [HOLD_NODE_END,    ["in ['ender']"]],
    [LAUNCHERS_POLICY, ["'system:serviceaccount:openshift-cnv:kubevirt-controller'"]],
  ])("of the name %s contain the cluster's names and times", (name, parts) => {
    for (const part of parts) expect(textOf(name)).toContain(part);
  });

  test.each([
    ["all", site, [LAUNCHERS_POLICY, HOLD_PREEMPTION, HOLD_TAINTS, HOLD_NODE_END]],
    ["without a clock", { ...site, clock: undefined }, [LAUNCHERS_POLICY, HOLD_TAINTS, HOLD_NODE_END]],
    [
      "without the taints' gate",
      { ...site, featureGates: gatesBut("NoExecuteTaint") },
      [LAUNCHERS_POLICY, HOLD_PREEMPTION, HOLD_NODE_END],
    ],
    ["without gates", { ...site, featureGates: [] }, []],
  ] as const)("are installed with their gates: %s", (_, of, expected) => {
    const planned = shipped.filter((one) => isPolicyPlanned(one, of)).map(({ metadata }) => metadata.name);
    expect([...new Set(planned)]).toEqual(expected);
  });
});

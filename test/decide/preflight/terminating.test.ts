/** Pods that are deleted and do not go, and kubelets that end none. */
import { describe, expect, test } from "vitest";
import type { PreflightFacts, PreflightPod } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { NODE, NOW, owner } from "../../support/fixtures.ts";
import { facts, launcher, node, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const deleted = (secondsAgo: number, tweak: Partial<PreflightPod> = {}) =>
  plainPod("app", { deleting: true, goneBy: NOW.getTime() - secondsAgo * 1000, ...tweak });
const kept = { finalizers: ["example.com/backup", "example.com/dns"] };
const dead = { node: node(NODE, { ready: false }) };

describe("a pod that is deleted", () => {
  // prettier-ignore
  test.each<[string, Partial<PreflightFacts>, verdict: string, reason: string]>([
    ["has just had its time",              { pods: [deleted(59, kept)] },                                             "WillSucceed",  "NotAVirtualMachine"],
    ["and kept by finalizers",             { pods: [deleted(60, kept)] },                                             "WillBlock",    "Finalizers"],
    ["… a VM's pod",                       { pods: [launcher("web", { deleting: true, goneBy: 0, ...kept })] },       "WillBlock",    "Finalizers"],
    ["… one that a drain leaves in place", { pods: [deleted(60, { ...kept, owners: [owner({ kind: "DaemonSet" })] })] }, "WillSucceed", "DaemonSet"],
    ["of a kubelet that is not ready",     { pods: [deleted(86_400)], ...dead },                                      "WillBlock",    "DeadKubelet"],
    ["and stays, nothing says why",        { pods: [deleted(86_400)] },                                               "Unknown", "NotAVirtualMachine"],
  ])("%s", (_, tweak, verdict, reason) => {
    const vmis = [vmiOf("web")];
    expect(preflight(facts({ vmis, ...tweak }))).toMatchObject({ verdict, pods: [{ reason }] });
  });

  test("what holds it and who can change that are told", () => {
    const { pods } = preflight(facts({ pods: [deleted(86_400, kept)], vmis: [] }));
    expect(pods[0]).toMatchObject({
      message: "Terminating, and its grace period ended 24h ago: finalizers example.com/backup, example.com/dns",
      remedy: expect.stringMatching(/^the owner of the finalizers/),
    });
    expect(preflight(facts({ pods: [deleted(86_400)], vmis: [] })).unknown).toEqual([
      "when pod apps/app goes: Terminating, and its grace period ended 24h ago",
    ]);
  });
});

test("nothing that is to leave a node that is not ready is promised to leave", () => {
  const unready = node(NODE, { ready: false });
  expect(preflight(facts({ node: unready }))).toMatchObject({
    verdict: "Unknown",
    unknown: [`when the pods of ${NODE} go: its kubelet is not ready, and ends none`],
  });
  const left = [plainPod("agent", { owners: [owner({ kind: "DaemonSet" })] })];
  expect(preflight(facts({ node: unready, pods: left, vmis: [] })).verdict).toBe("WillSucceed");
});

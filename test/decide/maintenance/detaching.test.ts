/** Volumes of VMs that have left a node: how long it waits for them, and what it says of them. */
import { describe, expect, test } from "vitest";
import { ClusterError, type Failure } from "../../../shared/kube/failures.ts";
import { textOf } from "../../../shared/facts/facts.ts";
import { CLAIMED_VOLUMES } from "../../../shared/maintenance/detaching.ts";
import { nodeStatusAfter } from "../../../shared/maintenance/status.ts";
import { NODE, NOW, owner, time } from "../../support/fixtures.ts";
import { plainPod } from "../../support/preflight/fixtures.ts";
import { type Situation, nextOf, started } from "../../support/maintenance/worlds.ts";

const leftBefore = (...seconds: readonly number[]) =>
  started({
    status: {
      outcomes: seconds.map((ago, i) => {
        return { namespace: "apps", name: `vm-${i}`, uid: `vmi-${i}`, outcome: "Moved", time: time(-ago) };
      }),
    },
  });
const attached = (volume: string | undefined, nodeName = NODE) => {
  return { name: `csi-${volume}`, nodeName, persistentVolumeName: volume };
};
const TWO = [attached("disk-1"), attached("disk-2"), attached("disk-3", "node02")];
const failing = (failure: Failure) => new ClusterError(failure);
const refused = (code: number) => failing({ reason: "Refused", code, request: "GET /volumeattachments" });

/** Phase, the condition, and the message about volumes. */
function drainedOf(situation: Situation): string {
  const next = nextOf(situation);
  const written = nodeStatusAfter(situation.ne ?? started(), next, NOW);
  const { status } = written?.conditions.find(({ type }) => type === "Drained") ?? {};
  return `${next.phase}, Drained ${status}; ${next.message
    .split("; ")
    .slice(1)
    .join("; ")
    .replace(/^VMs that left: \d+(; )?/, "")}`;
}

const CLAIMED = textOf({ kind: CLAIMED_VOLUMES, selection: {} });
const agent = plainPod("agent", { owners: [owner({ kind: "DaemonSet", name: "agent" })], claims: ["of-agent"] });
const STAYING = {
  left: { pods: [agent] },
  more: {
    [CLAIMED]: [
      { name: "disk-1", claim: { namespace: "apps", name: "of-agent" } },
      { name: "disk-2", claim: { namespace: "other", name: "of-agent" } },
      { name: "disk-4" },
    ],
  },
};
const WAITS = "Evacuating, Drained False; volumes that are not detached yet";
const SAYS = "Evacuated, Drained True; volumes that are still attached to it (kubectl get volumeattachments)";
const UNKNOWN = "Evacuated, Drained True; whether volumes are still attached to it is not known";

describe("a node that its VMs have left", () => {
  // prettier-ignore
  test.each<readonly [string, Situation, string]>([
    ["is drained if no volume is attached",         { ne: leftBefore(9) },                                        "Evacuated, Drained True; "],
    ["… to it",                                     { ne: leftBefore(9), attachments: [attached("disk", "node02")] }, "Evacuated, Drained True; "],
    ["… that a claim is bound to",                  { ne: leftBefore(9), attachments: [attached(undefined)] },    "Evacuated, Drained True; "],
    ["waits for its volumes",                       { ne: leftBefore(9), attachments: TWO },                      `${WAITS}: 2`],
    ["… for five minutes",                          { ne: leftBefore(900, 299), attachments: TWO },               `${WAITS}: 2`],
    ["… from when the last VM left, and says how many", { ne: leftBefore(900, 300), attachments: TWO },           `${SAYS}: 2`],
    ["does not wait for volumes of pods that stay", { ne: leftBefore(9), attachments: TWO, ...STAYING },          `${WAITS}: 1`],
    ["… nor looks at claims of others",             { ne: leftBefore(9), attachments: TWO.slice(0, 1), ...STAYING }, "Evacuated, Drained True; "],
    ["says what it may not read",                   { ne: leftBefore(9), attachments: refused(403) },             `${UNKNOWN}: the API server answered GET /volumeattachments with 403 Forbidden: the service account lacks a permission; lifeboat install --with maintenance`],
    ["… what is not served",                        { ne: leftBefore(9), attachments: refused(404) },             `${UNKNOWN}: the API server answered GET /volumeattachments with 404`],
    ["… what does not answer for five minutes",     { ne: leftBefore(300), attachments: failing({ reason: "Unreachable" }) }, `${UNKNOWN}: the API server cannot be reached`],
    ["… what it cannot understand",                 { ne: leftBefore(9), attachments: failing({ reason: "Unintelligible", request: "r", issue: "i", odd: true }) }, `${UNKNOWN}: Lifeboat cannot read the object of r: i`],
  ])("%s", (_, situation, expected) => {
    expect(drainedOf(situation)).toBe(expected);
  });

  test("is not drained while the API server does not answer for a moment", () => {
    const attachments = failing({ reason: "Unreachable" });
    expect(() => nextOf({ ne: leftBefore(299), attachments })).toThrow(attachments);
  });
});

test("if no VM was there, nothing is asked", () => {
  expect(nextOf({ attachments: refused(403) })).toMatchObject({
    phase: "Evacuated",
    message: expect.not.stringContaining("volumes"),
  });
});

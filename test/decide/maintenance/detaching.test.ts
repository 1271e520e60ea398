/**
 * Tests how long a NodeEvacuation waits for the volumes of VMs that have left the node, and the message about these
 * volumes.
 */
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
const ephemeral = { ...agent, claims: [], ephemeralClaims: ["of-agent"] };
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
const SAYS = "Evacuated, Drained True; volumes that are still attached to the node (kubectl get volumeattachments)";
const UNKNOWN = "Evacuated, Drained True; Lifeboat does not know whether volumes are still attached to the node";

const besideOpen = started({
  status: { outcomes: [...leftBefore(9).status.outcomes, { namespace: "apps", name: "odd", uid: "vmi-odd" }] },
});
const ODD_VMI = {
  "virtualmachineinstances apps/odd": failing({ reason: "Unintelligible", request: "r", issue: "i", odd: true }),
};

describe("a node without VMs", () => {
  // prettier-ignore
  test.each<readonly [string, Situation, string]>([
    ["is drained if no volume is attached",         { ne: leftBefore(9) },                                        "Evacuated, Drained True; "],
    ["is drained if volumes are attached to other nodes",                                     { ne: leftBefore(9), attachments: [attached("disk", "node02")] }, "Evacuated, Drained True; "],
    ["is drained if only volumes without a PersistentVolume are attached",                  { ne: leftBefore(9), attachments: [attached(undefined)] },    "Evacuated, Drained True; "],
    ["waits for attached volumes",                       { ne: leftBefore(9), attachments: TWO },                      `${WAITS}: 2`],
    ["waits for attached volumes for five minutes",                          { ne: leftBefore(900, 299), attachments: TWO },               `${WAITS}: 2`],
    ["is drained five minutes after the last VM left, with the number of attached volumes", { ne: leftBefore(900, 300), attachments: TWO },           `${SAYS}: 2`],
    ["does not wait for volumes of pods that stay", { ne: leftBefore(9), attachments: TWO, ...STAYING },          `${WAITS}: 1`],
    ["does not wait for ephemeral volumes of pods that stay", { ne: leftBefore(9), attachments: TWO, ...STAYING, left: { pods: [ephemeral] } }, `${WAITS}: 1`],
    ["waits only for volumes of the claims' own namespace",             { ne: leftBefore(9), attachments: TWO.slice(0, 1), ...STAYING }, "Evacuated, Drained True; "],
    ["is drained if volume attachments may not be read, and says so",                   { ne: leftBefore(9), attachments: refused(403) },             `${UNKNOWN}: the API server answered GET /volumeattachments with 403 Forbidden: the service account lacks a permission; run lifeboat install --with maintenance`],
    ["is drained if volume attachments are not served, and says so",                        { ne: leftBefore(9), attachments: refused(404) },             `${UNKNOWN}: the API server answered GET /volumeattachments with 404`],
    ["is drained if the API server does not answer for five minutes, and says so",     { ne: leftBefore(300), attachments: failing({ reason: "Unreachable" }) }, `${UNKNOWN}: the API server cannot be reached`],
    ["is drained if volume attachments cannot be parsed, and says so",                 { ne: leftBefore(9), attachments: failing({ reason: "Unintelligible", request: "r", issue: "i", odd: true }) }, `${UNKNOWN}: Lifeboat cannot parse the answer to r: i`],
    ["waits for attached volumes while the outcome of another VM is open", { ne: besideOpen, attachments: TWO, more: ODD_VMI }, `${WAITS}: 2`],
  ])("%s", (_, situation, expected) => {
    expect(drainedOf(situation)).toBe(expected);
  });

  test("is not drained while the API server does not answer for less than five minutes", () => {
    const attachments = failing({ reason: "Unreachable" });
    expect(() => nextOf({ ne: leftBefore(299), attachments })).toThrow(attachments);
  });
});

test("a node that never had VMs is drained without a request for volume attachments", () => {
  expect(nextOf({ attachments: refused(403) })).toMatchObject({
    phase: "Evacuated",
    message: expect.not.stringContaining("volumes"),
  });
});

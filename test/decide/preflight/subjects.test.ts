/** How far one VM is, in words: what its migration's phase says, and where it goes. */
import { expect, test } from "vitest";
import { rowOf, subjectsOf } from "../../../shared/preflight/progress.ts";
import { EXTERNAL, evacuation, migration, NODE, PINNED } from "../../support/fixtures.ts";
import { facts, launcher, vmiOf } from "../../support/preflight/fixtures.ts";

type Tweak = Parameters<typeof vmiOf>[1];
interface Seen {
  readonly vmi?: Tweak;
  readonly migration?: Parameters<typeof migration>[0];
  /** Of its Evacuation. */
  readonly reason?: string;
}

const MARKED = { evacuationNodeName: NODE };
const MOVING = { ...MARKED, isMigrating: true };
const to = (targetNode: string) => ({ targetNode });

// prettier-ignore
const ROWS: readonly (readonly [what: string, seen: Seen, mood: string, words: string])[] = [
  ["nothing asks it to leave",            {},                                                                      "waiting", "runs"],
  ["marked, no migration yet",            { vmi: MARKED },                                                         "waiting", "is to move"],
  ["its migration is new",                { vmi: MARKED, migration: { phase: "" } },                               "moving",  "is about to move"],
  ["… runs",                              { vmi: MOVING, migration: { phase: "Running" } },                        "moving",  "moves"],
  ["… to a node that only its VMI names", { vmi: { ...MOVING, ...to("node02") }, migration: { phase: "Running" } }, "moving", "moves to node02"],
  ["… that it names itself",              { vmi: MOVING, migration: { phase: "Running", ...to("node03") } },       "moving",  "moves to node03"],
  ["KubeVirt delays it after a failure",  { vmi: MARKED, migration: { phase: "Pending" }, reason: "KubeVirtBackoff" }, "waiting", "waits for the end of KubeVirt's back-off"],
  ["… and has begun it since",            { vmi: MOVING, migration: { phase: "Running" }, reason: "KubeVirtBackoff" }, "moving", "moves"],
  ["virt-controller is away",             { vmi: MARKED, migration: { phase: "" }, reason: "KubeVirtNotAnswering" }, "waiting", "waits for virt-controller, which does not answer"],
  ["it cannot move",                      { vmi: PINNED },                                                         "blocked", "blocked: NotMigratable"],
  ["its owner moves it",                  { vmi: { ...EXTERNAL, ...MARKED } },                                     "blocked", "blocked: External"],
  ["… and has asked KubeVirt to",         { vmi: { ...EXTERNAL, ...MARKED }, migration: { phase: "Pending" } },    "waiting", "waits in KubeVirt's queue"],
];

test.each(ROWS)("%s", (_, { vmi, migration: its, reason = "Pending" }, mood, words) => {
  const migrations = its === undefined ? [] : [migration(its)];
  const [subject] = subjectsOf(
    facts({
      pods: [launcher("web")],
      vmis: [vmiOf("web", vmi)],
      migrations,
      evacuations: [evacuation({ status: { reason } })],
    }),
  );
  expect(subject && rowOf(subject)).toMatchObject({ key: "VM apps/web", isVm: true, mood, words });
});

/** POLICY.md is the policy: rendered from the tables, and what it says of stages is what the planner does. */
import { describe, expect, test } from "vitest";
import { type EvacuationWorld, planEvacuations } from "../../shared/policy/evacuation.ts";
import { renderPolicy } from "../../shared/policy/render-document.ts";
import { renderTable } from "../../shared/policy/render-tables.ts";
import { STAGE_MEANING } from "../../shared/policy/stage-meaning.ts";
import type { Stage } from "../../shared/policy/stage.ts";
import { stagesOf } from "../../shared/policy/evacuation.ts";
import { attempt, budget, marked, migration, MOBILITY, NODE, record, settings, time, verbs, vmi } from "./fixtures.ts";
import { without } from "./fixtures.ts";
import { grownFor, slotOf, world } from "./worlds.ts";

test("shared/policy/POLICY.md is rendered from the code", async () => {
  const how = "the policy has changed: `npx vitest run test/policy -u` renders POLICY.md anew";
  await expect(renderPolicy(), how).toMatchFileSnapshot("../../shared/policy/POLICY.md");
});

test("tables are padded to their widest cell", () => {
  expect(
    renderTable([
      ["a", "long head"],
      ["wide cell", "b"],
    ]),
  ).toBe(["| a         | long head |", "| --------- | --------- |", "| wide cell | b         |"].join("\n"));
});

const subject = marked();
const small = { budgets: [budget()] };
const pending = attempt({ phase: "Pending", attempt: 2 });
const reserved = { vmis: [subject], register: { slots: [slotOf(subject)] }, budgets: [grownFor(subject)] };

/** For every stage, worlds with one VM in it that show all that can be done about it. */
const shown: Record<Stage["stage"], readonly Partial<EvacuationWorld>[]> = {
  Idle: [{ vmis: [vmi()] }],
  Unrecorded: [{ vmis: [without(subject, "record")] }, { vmis: [vmi()], tainted: new Set([NODE]) }],
  Waiting: [{ vmis: [marked({}, { notBefore: time(9) })] }],
  Ready: [{ vmis: [subject] }, reserved],
  Migrating: [{ vmis: [subject], migrations: [migration({ evacuates: NODE })] }],
  Settling: [{ vmis: [subject], migrations: [attempt({ phase: "Succeeded" })] }],
  AttemptFailed: [0, 4].map((attempts) => {
    const failed = attempt({ phase: "Failed", attempt: attempts + 1, name: "failed" });
    return { vmis: [marked({}, { attempts })], migrations: [failed, pending] };
  }),
  External: [{ vmis: [marked({ evictionStrategy: "External" })] }],
  Pinned: [{ vmis: [marked({ liveMigratable: MOBILITY.pinned })] }],
  Withdrawn: [{ vmis: [vmi({ record: record() })] }],
  Leftover: [
    { vmis: [marked({ nodeName: "node02" })], ...small },
    { vmis: [marked({ nodeName: "node02" })], ...small, counters: { evacuations: [], counted: [] } },
    { vmis: [vmi({ record: record({ outcome: "Cancelled" }), evacuationLabel: "normal" })], migrations: [pending] },
  ],
};

describe("what is said of a stage", () => {
  test.each(Object.entries(shown))("%s is what the planner does", (name, worlds) => {
    const done = worlds.flatMap((tweak) => {
      const w = world({ settings: settings(), ...tweak });
      expect(stagesOf(w).map((s) => s.stage.stage)).toEqual([name]);
      return verbs(planEvacuations(w).chains.flat()).filter((verb) => verb !== "Event");
    });
    const said = Object.entries(STAGE_MEANING).find(([stage]) => stage === name)?.[1].actions;
    expect([...new Set(done)].toSorted()).toEqual([...(said ?? [])].toSorted());
  });
});

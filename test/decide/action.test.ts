/** Tests which actions may fail without stopping the following actions. */
import { expect, test } from "vitest";
import { type Action, isOptional, recordEvent } from "../../shared/kube/action.ts";
import { vmi } from "../support/fixtures.ts";

const create = { verb: "CreateBudget", vmi: vmi() } as const;

test.each<[boolean, Action]>([
  [true, recordEvent(vmi(), "Evacuated", "moved", "once")],
  [true, { ...create, optional: true }],
  [false, create],
  [false, { verb: "Unmark", vmi: vmi() }],
])("optional is %s for the action %j", (expected, action) => expect(isOptional(action)).toBe(expected));

/** Which actions a chain goes on without. */
import { expect, test } from "vitest";
import { type Action, isOptional, recordEvent } from "../../shared/kube/action.ts";
import { vmi } from "./fixtures.ts";

const grow = { verb: "GrowBudget", vmi: vmi(), name: "budget" } as const;

test.each<[boolean, Action]>([
  [true, recordEvent(vmi(), "Evacuated", "moved", "once")],
  [true, { ...grow, required: false }],
  [false, { ...grow, required: true }],
  [false, { verb: "Unmark", vmi: vmi() }],
])("optional: %s: %j", (expected, action) => expect(isOptional(action)).toBe(expected));

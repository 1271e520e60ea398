/** Each story in its acts, which are told one after another. */
import type { Act } from "../story.ts";
import { drain } from "./drain.ts";
import { preemption } from "./preemption.ts";
import { pressure, shield } from "./pressure.ts";
import { taint } from "./taint.ts";

export const STORY = {
  drain: [drain],
  preemption: [preemption],
  taint: [taint],
  pressure: [pressure, shield],
} as const satisfies Readonly<Record<string, readonly Act[]>>;

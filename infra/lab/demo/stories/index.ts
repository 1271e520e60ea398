/** Each story in its acts, which are told one after another. */
import type { Act } from "../story.ts";
import { maintenance } from "./maintenance.ts";
import { preemption } from "./preemption.ts";
import { pressure, shield } from "./pressure.ts";
import { taint } from "./taint.ts";

export const STORY = {
  maintenance: [maintenance],
  preemption: [preemption],
  taint: [taint],
  pressure: [pressure, shield],
} as const satisfies Readonly<Record<string, readonly Act[]>>;

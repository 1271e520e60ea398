/** Each scenario with its acts, which run one after another. */
import type { Act } from "../scenario.ts";
import { maintenance } from "./maintenance.ts";
import { plan } from "./plan.ts";
import { preemption } from "./preemption.ts";
import { pressure, shield } from "./pressure.ts";
import { taint } from "./taint.ts";

export const SCENARIO = {
  maintenance: [maintenance],
  plan: [plan],
  preemption: [preemption],
  taint: [taint],
  pressure: [pressure, shield],
} as const satisfies Readonly<Record<string, readonly Act[]>>;

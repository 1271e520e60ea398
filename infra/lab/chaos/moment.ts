/** What happens in a run, and when: the entries of a plan's timeline. */
import type { Effect } from "../../sandbox/apiserver/faults.ts";
import type { FaultName } from "./fault-table.ts";

/** Who has to live with what the API server does; `Evictions`: its calls to Lifeboat about them. */
export type Whom = "Lifeboat" | "Everybody" | "Evictions";

export type Happening =
  /** Requests have a chance of this effect until the faults stop. */
  | {
      readonly does: "inject";
      readonly whom: Whom;
      readonly effect: Effect;
      readonly probability: number;
      readonly verbs?: readonly string[];
    }
  | { readonly does: "suspend API server" | "close idle connections" | "refuse token"; readonly ms: number }
  | { readonly does: "compact" | "renew token" }
  /** Empty: no one has it. */
  | { readonly does: "take Lease"; readonly holder: string }
  | { readonly does: "silence Lifeboat"; readonly ms: number }
  | {
      readonly does: "switch evacuation controller" | "switch budget deletion" | "switch annotations";
      readonly on: boolean;
    }
  | {
      readonly does:
        | "migrate"
        | "send away"
        | "update workload"
        | "back up"
        | "delete"
        | "withdraw"
        | "evacuate"
        | "unmark"
        | "mark late"
        | "delete evacuations"
        | "forge"
        | "flood"
        | "reach out";
      readonly vm: string;
    }
  | { readonly does: "break off drain"; readonly ms: number }
  | { readonly does: "taint for a while"; readonly ms: number }
  | { readonly does: "drain taint" | "preempt" | "taint" | "terminate" | "press" | "squeeze" | "retire" };

export type VmHappening = Extract<Happening, { readonly vm: string }>;

export type Moment = Happening & {
  /** Milliseconds after the beginning. */
  readonly at: number;
  readonly fault: FaultName;
};

/** What a preflight says: one answer for the node, one for each pod on it. */

/** The first that applies, from the top. */
export const NODE_VERDICTS = ["WillBlock", "NoRoom", "Unknown", "WillSucceedWithShutdowns", "WillSucceed"] as const;

export type NodeVerdict = (typeof NODE_VERDICTS)[number];

/**
 * `Moves`: a live migration. `Follows`: a hotplug pod goes with its VM. `Waits`: refused now, by itself not for ever. `ShutsDown`: a
 * guest ends. `Evicted`: an ordinary pod. `Stays`: a drain leaves it in place. `Ended`: nothing runs in it. `Blocked`: refused until
 * a person changes something.
 */
export type Outcome = "Moves" | "Follows" | "Waits" | "ShutsDown" | "Evicted" | "Stays" | "Ended" | "Blocked";

/** What the eviction of a pod would get now. */
export interface EvictionPreview {
  readonly allowed: boolean;
  /** Lifeboat's reason, or `BudgetExhausted`, `SeveralBudgets`, which are the API server's. */
  readonly reason: string;
  readonly message?: string;
}

/** Where a VM could go. */
export interface RoomFound {
  readonly fits: boolean;
  /** One that has room; the scheduler may choose another. */
  readonly node?: string;
  /** Every node that has room has another CPU, by its labels: whether the VM can go there is not known. */
  readonly otherCpu?: boolean;
  /** How many of the other nodes have room for it, with the VMs before it placed. */
  readonly nodes: number;
  /** There is room for it, but not with the other VMs of the node. */
  readonly fitsAlone?: boolean;
  /** Where it has none: what keeps it from the other nodes. */
  readonly message?: string;
}

export interface PodVerdict {
  readonly namespace: string;
  readonly name: string;
  readonly vmi?: string;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly message: string;
  /** Who can change it, and how. */
  readonly remedy?: string;
  /** Absent: a drain does not ask for it. */
  readonly eviction?: EvictionPreview;
  /** Of VMs that are to move, and of pods whose budget waits for a replacement that has none. */
  readonly room?: RoomFound;
}

export interface DrainTime {
  /** VMs that move. */
  readonly moves: number;
  /** How many move at a time. */
  readonly atOnce: number;
  readonly waves: number;
  /** From the fastest to the slowest that is likely. */
  readonly seconds: { readonly least: number; readonly most: number };
  /** What the range rests on, in words. */
  readonly basis: string;
}

export interface Preflight {
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** One line. */
  readonly summary: string;
  readonly counts: Readonly<Partial<Record<Outcome, number>>>;
  readonly time?: DrainTime;
  readonly pods: readonly PodVerdict[];
  /** What could not be read, or is not looked at: the verdict may be wrong about it. */
  readonly unknown: readonly string[];
}

/** A check of `lifeboat doctor`: what it reads, what it says of that, and what fixes it. */
import type { Reads } from "./reads.ts";

/** `unread`: what it depends on could not be read, so it may have failed. */
export type Status = "ok" | "warning" | "failed" | "unread";

/** Verdict first, reasons second, the command that fixes it third. */
export interface Finding {
  readonly status: Status;
  readonly message: string;
  readonly reasons?: readonly string[];
  readonly fix?: string;
}

export const GROUPS = ["Kubernetes", "KubeVirt", "Lifeboat", "Relay", "Credentials", "Shield"] as const;

export interface Check {
  readonly group: (typeof GROUPS)[number];
  /** What it reads, in words. */
  readonly about: string;
  readonly find: (reads: Reads) => Promise<readonly Finding[] | Finding>;
  /** If it fails so would all that follow: they are left out. */
  readonly fatal?: true;
}

/** Its message says why something could not be read. */
export class Unread extends Error {
  override readonly name = "Unread";
}

/** Undefined, too, where it could not be read: the check that is about it says so. */
export async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

export function ok(message: string): Finding {
  return { status: "ok", message };
}

export function warning(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { status: "warning", message, reasons: [reason].flat(), ...(fix === undefined ? {} : { fix }) };
}

export function failed(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { ...warning(message, reason, fix), status: "failed" };
}

/** What `lifeboat doctor` says of one thing: verdict first, reason second, the command that fixes it third. */
import { type Permission, permissionText } from "./permissions.ts";

/** `unread`: what it depends on could not be read, so it may have failed. */
export type Status = "ok" | "warning" | "failed" | "unread";

export interface Finding {
  readonly status: Status;
  readonly message: string;
  readonly reasons?: readonly string[];
  /** A command, or what to ask an administrator for. */
  readonly fix?: string;
}

export const GROUPS = ["Kubernetes", "KubeVirt", "Lifeboat", "Relay", "Credentials", "Shield"] as const;

export interface Check extends Finding {
  readonly group: (typeof GROUPS)[number];
}

/** Something of the cluster; or why it could not be read, and the permission that takes. */
export type Read<T> = { readonly value: T } | Unread;

export interface Unread {
  readonly unread: string;
  /** The reader lacks it, if that is why. */
  readonly lacks?: Permission | undefined;
}

export function ok(message: string): Finding {
  return { status: "ok", message };
}

export function warning(message: string, reason: string, fix?: string): Finding {
  return { status: "warning", message, reasons: [reason], ...(fix === undefined ? {} : { fix }) };
}

export function failed(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { status: "failed", message, reasons: [reason].flat(), ...(fix === undefined ? {} : { fix }) };
}

export function unread(what: string, { unread: why, lacks }: Unread): Finding {
  const fix = lacks === undefined ? {} : { fix: `ask an administrator of the cluster for: ${permissionText(lacks)}` };
  return { status: "unread", message: `${what} could not be read`, reasons: [why], ...fix };
}

/** Judges what could be read. */
export function judged<T>(
  what: string,
  read: Read<T>,
  judge: (value: T) => readonly Finding[] | Finding,
): readonly Finding[] {
  return "value" in read ? [judge(read.value)].flat() : [unread(what, read)];
}

export function valueOf<T>(read: Read<T>): T | undefined {
  return "value" in read ? read.value : undefined;
}

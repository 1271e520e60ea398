/** The result of a check of `lifeboat doctor`. */
/** `unread` means that the check could not read the facts that it needs. */
export type Status = "ok" | "warning" | "failed" | "unread";

/** The texts start with the verdict, followed by the reasons and the command that fixes the problem. */
export interface Finding {
  readonly status: Status;
  readonly message: string;
  readonly reasons?: readonly string[];
  readonly fix?: string;
}

export function ok(message: string, reasons: readonly string[] = []): Finding {
  return { status: "ok", message, ...(reasons.length > 0 && { reasons }) };
}

export function warning(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { status: "warning", message, reasons: [reason].flat(), ...(fix !== undefined && { fix }) };
}

export function failed(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { ...warning(message, reason, fix), status: "failed" };
}

/** What a check of `lifeboat doctor` finds. */
/** `unread`: what it depends on could not be read, so it may have failed. */
export type Status = "ok" | "warning" | "failed" | "unread";

/** Verdict first, reasons second, the command that fixes it third. */
export interface Finding {
  readonly status: Status;
  readonly message: string;
  readonly reasons?: readonly string[];
  readonly fix?: string;
}

/** Its message says why something could not be read. */
export class Unread extends Error {
  override readonly name = "Unread";
  readonly about: string;

  constructor(about: string, why: string, options?: ErrorOptions) {
    super(why, options);
    this.about = about;
  }
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

export function ok(message: string, reasons: readonly string[] = []): Finding {
  return { status: "ok", message, ...(reasons.length > 0 && { reasons }) };
}

export function warning(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { status: "warning", message, reasons: [reason].flat(), ...(fix !== undefined && { fix }) };
}

export function failed(message: string, reason: string | readonly string[], fix?: string): Finding {
  return { ...warning(message, reason, fix), status: "failed" };
}

export const LOGS = "kubectl -n lifeboat-system logs deployment/lifeboat-server";

/**
 * Writes the relay's log, with one JSON object in each line. The log contains no secrets, tokens or objects of the
 * cluster.
 */
import type { Clock } from "./clock.ts";

export type Level = "info" | "warn" | "error";
export type Log = (level: Level, message: string, details?: Readonly<Record<string, unknown>>) => void;

export function createLog(clock: Clock, write: (line: string) => void): Log {
  return (level, message, details = {}) =>
    write(JSON.stringify({ time: clock.now().toISOString(), level, ...(message !== "" && { message }), ...details }));
}

/**
 * Describes an error. Adds the error's cause, because undici reports details there. Omits the HTTP response in an error
 * of client-node.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  const { cause } = error;
  const text = cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
  return text.slice(0, 300);
}

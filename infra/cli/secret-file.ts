/** Writes files that contain a token or a key. */
import { writeFile } from "node:fs/promises";
import { Failed } from "./failed.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * Creates a file that only its owner can read. Fails if a file or a link already exists. The existing file can belong
 * to another user, who could then read the secret.
 */
export async function createSecretFile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = isThere ? MESSAGES.fileExists(file) : MESSAGES.fileUnwritten(file, why);
    throw new Failed(message, { cause });
  }
}

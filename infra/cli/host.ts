/** The parts of the machine that commands use: streams, environment, time, and a person to ask. */
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface Host {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Waits. Returns early, without an error, if the person presses Ctrl-C. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Returns the person's answer, or undefined if there is no terminal. */
  readonly ask: (question: string) => Promise<string | undefined>;
}

/** Returns the streams, the clock and the environment of this process. The second Ctrl-C ends the process. */
export function processHost(): Host {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  process.once("SIGTERM", () => interrupt.abort());
  // A program such as `head` can close the pipe before it has read everything. The command then ends without an error.
  process.stdout.on("error", () => process.exit(0));
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    now: () => new Date(),
    wait: (milliseconds) => sleep(milliseconds, undefined, { signal: interrupt.signal }).catch(() => undefined),
    interrupted: interrupt.signal,
    ask: (question) => askOnTerminal(question, interrupt),
  };
}

async function askOnTerminal(question: string, interrupt: AbortController): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.on("SIGINT", () => interrupt.abort());
  try {
    return await terminal.question(question, { signal: interrupt.signal });
  } catch {
    return undefined;
  } finally {
    terminal.close();
  }
}

/** Runs programs in a temporary folder until this process ends. Each program has a log. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { access, constants, cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startWatchdog } from "./watchdog.ts";

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the program is restarted if it exits. */
  readonly comesBack?: boolean;
}

export interface RunningProgram {
  readonly name: string;
  readonly isRunning: boolean;
  /** Resolves to the reason why the program has ended or has not started. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM, and kills the program after a timeout. The program is not restarted. */
  end(patienceMs: number): Promise<void>;
  /** Starts the program again. The program must have ended. */
  startAgain(): void;
}

export interface Programs {
  readonly folder: string;
  readonly logs: string;
  start(program: Program): RunningProgram;
  /** Waits until the condition is true. Throws if a program ends, or after a timeout. */
  until(what: string, isSo: () => Promise<boolean>, signal?: AbortSignal): Promise<void>;
  /** Copies the logs, and returns the path of the copy. `stop` deletes the original logs. */
  keepLogs(): Promise<string>;
  /** Stops the programs in reverse order of their start. */
  stop(patienceMs?: number): Promise<void>;
}

const START_TIMEOUT_MS = 90_000;
const POLL_MS = 50;
const RESTART_MS = 1_000;
const LAST_WORDS = 5;
/** Go's setting for garbage collection. A high value uses more memory and less CPU time. */
const GOGC = "300";

export async function createPrograms(prefix = "sandbox-"): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const logs = join(folder, "log");
  mkdirSync(logs);
  const watchdog = startWatchdog(folder);
  const all: Supervised[] = [];

  const spawnLogged = ({ name, command, args, env = {} }: Program) => {
    const log = openSync(join(logs, `${name}.log`), "a");
    const child = spawn(command, [...args], {
      detached: true,
      env: { GOGC, ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    // The watchdog ends the program if this process ends first.
    child.unref();
    watchdog.watch(child);
    return child;
  };

  return {
    folder,
    logs,
    start(program) {
      const running = new Supervised(program, () => spawnLogged(program));
      all.push(running);
      return running;
    },
    async until(what, isSo, signal = AbortSignal.timeout(START_TIMEOUT_MS)) {
      const over = new AbortController();
      const tooLate = aborted(signal, over.signal).then(() => fail(`it took too long until ${what}`));
      const wanted = all.filter(({ isWanted }) => isWanted);
      const deaths = wanted.map(async ({ name, ended }) => {
        const why = `${await ended} before ${what}`;
        return fail([why, ...(await lastWordsOf(join(logs, `${name}.log`)))].join("\n"));
      });
      try {
        await Promise.race([pollUntil(isSo, over.signal), tooLate, ...deaths]);
      } finally {
        over.abort();
      }
    },
    async keepLogs() {
      const kept = await mkdtemp(`${folder}-logs-`);
      await cp(logs, kept, { recursive: true });
      return kept;
    },
    async stop(patienceMs = 0) {
      for (const program of all.toReversed()) await program.end(patienceMs);
      await watchdog.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

class Supervised implements RunningProgram {
  readonly #program: Program;
  readonly #spawn: () => ChildProcess;
  #child: ChildProcess;
  isWanted = true;
  isRunning = true;
  ended: Promise<string>;

  constructor(program: Program, spawnChild: () => ChildProcess) {
    this.#program = program;
    this.#spawn = spawnChild;
    this.#child = spawnChild();
    this.ended = this.#follow();
  }

  get name(): string {
    return this.#program.name;
  }

  startAgain(): void {
    this.isWanted = true;
    if (this.isRunning) return;
    this.#child = this.#spawn();
    this.isRunning = true;
    this.ended = this.#follow();
  }

  async end(patienceMs: number): Promise<void> {
    this.isWanted = false;
    if (!this.isRunning) return;
    this.#child.ref();
    this.#child.kill(patienceMs === 0 ? "SIGKILL" : "SIGTERM");
    const outOfPatience = setTimeout(() => this.#child.kill("SIGKILL"), patienceMs);
    await this.ended;
    clearTimeout(outOfPatience);
  }

  #follow(): Promise<string> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (why: string) => {
        this.isRunning = false;
        resolve(why);
        if (this.#program.comesBack === true) void this.#comeBack();
      };
      child.once("error", ({ message }) => end(message));
      child.once("exit", (code, signal) =>
        end(`${basename(this.#program.command)} ended with ${signal ?? `exit code ${code}`}`),
      );
    });
  }

  async #comeBack(): Promise<void> {
    await delay(RESTART_MS, undefined, { ref: false });
    if (this.isWanted) this.startAgain();
  }
}

async function pollUntil(isSo: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (await isSo().catch(() => false)) return;
    await delay(POLL_MS);
  }
}

/** Resolves when the signal aborts. Never resolves if `instead` aborts first. */
function aborted(signal: AbortSignal, instead: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: instead });
  });
}

function fail(message: string): never {
  throw new Error(message);
}

async function lastWordsOf(log: string): Promise<readonly string[]> {
  const text = await readFile(log, "utf8").catch(() => "");
  return text.trim() === "" ? [] : text.trimEnd().split("\n").slice(-LAST_WORDS);
}

/** Throws an error with the path of the first missing file. */
export async function demandFiles(
  folder: string,
  files: readonly string[],
  programs: readonly string[],
): Promise<void> {
  const isThere = async (name: string, mode: number, what: string) => {
    const path = join(folder, name);
    await access(path, mode).catch((cause: unknown) => {
      throw new Error(`${path}: ${what}`, { cause });
    });
  };
  for (const name of programs) await isThere(name, constants.X_OK, "no such program");
  for (const name of files) await isThere(name, constants.R_OK, "no such file");
}

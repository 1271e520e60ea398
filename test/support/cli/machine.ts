/** Simulates the machine on which a test runs the command. */
import { setTimeout as pause } from "node:timers/promises";
import type { Host } from "../../../infra/cli/host.ts";

export interface Machine {
  /** True if stdout and stderr are a terminal. */
  readonly terminal?: boolean;
  readonly answer?: string;
  readonly onQuestion?: (text: string) => unknown;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  /**
   * True if a wait takes real time, because the cluster has its own clock. If true, the command polls more often than
   * usual.
   */
  readonly isPatient?: boolean;
  /** Called after each wait of the command. A wait takes no real time unless `isPatient` is set. */
  readonly meanwhile?: (waits: number, interrupt: () => void) => unknown;
  readonly started?: Date;
}

const MOMENT_MS = 200;

export function machineOf(machine: Machine) {
  const { terminal = false, answer, env = {}, meanwhile, isPatient = false, started: begun = new Date() } = machine;
  const [out, err]: [string[], string[]] = [[], []];
  const interrupt = new AbortController();
  let [time, waits] = [begun.getTime(), 0];
  const host: Host = {
    stdout: { write: (text) => out.push(text), isTTY: terminal, columns: machine.columns },
    stderr: { write: (text) => err.push(text), isTTY: terminal, columns: machine.columns },
    env,
    now: () => new Date(time),
    async wait(milliseconds) {
      const since = performance.now();
      if (isPatient) await pause(Math.min(milliseconds, MOMENT_MS));
      time += isPatient ? performance.now() - since : milliseconds;
      await meanwhile?.(waits++, () => interrupt.abort());
    },
    interrupted: interrupt.signal,
    ask(question) {
      machine.onQuestion?.(question);
      return Promise.resolve(terminal ? answer : undefined);
    },
  };
  return { host, out, err };
}

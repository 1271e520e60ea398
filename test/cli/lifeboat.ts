/**
 * Calls of the command, as a person makes them, on a cluster of the sandbox's.
 * Owns: the person's machine: kubeconfig, terminal, clock. Does not own: the cluster, expectations.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Host } from "../../infra/cli/host.ts";
import { run } from "../../infra/cli/run.ts";
import { type Credentials, kubeconfigText } from "../../infra/sandbox/kubeconfig.ts";

export interface Said {
  readonly code: number;
  /** Lines of stdout, and of stderr. */
  readonly out: readonly string[];
  readonly err: readonly string[];
}

export interface Person {
  /** Of the kubeconfig; or its text. */
  readonly kubeconfig: Credentials | string;
  /** Whether stdout and stderr are a terminal, and what is answered there. */
  readonly terminal?: boolean;
  readonly answer?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Waits as long as the command says, for a cluster that goes on by itself: as a poll does. */
  readonly isPatient?: boolean;
  /** Happens whenever the command waits; the time that it waits for passes at once. */
  readonly meanwhile?: (waits: number, interrupt: () => void) => unknown;
}

export async function lifeboat(line: string, person: Person): Promise<Said> {
  const { kubeconfig } = person;
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "config");
  await writeFile(file, typeof kubeconfig === "string" ? kubeconfig : kubeconfigText(kubeconfig));
  const { host, out, err } = machineOf(person);
  const words = line.split(" ").filter((word) => word !== "");
  const code = await run([...words, "--kubeconfig", file], host);
  return { code, out: linesOf(out), err: linesOf(err) };
}

export function machineOf(person: Omit<Person, "kubeconfig">) {
  const { terminal = false, answer, env = {}, meanwhile, isPatient = false } = person;
  const [out, err]: [string[], string[]] = [[], []];
  const interrupt = new AbortController();
  let [time, waits] = [Date.now(), 0];
  const host: Host = {
    stdout: { write: (text) => out.push(text), isTTY: terminal },
    stderr: { write: (text) => err.push(text), isTTY: terminal },
    env,
    now: () => new Date(time),
    async wait(milliseconds) {
      if (isPatient) await pause(milliseconds);
      time += milliseconds;
      await meanwhile?.(waits++, () => interrupt.abort());
    },
    interrupted: interrupt.signal,
    ask: () => Promise.resolve(terminal ? answer : undefined),
  };
  return { host, out, err };
}

function linesOf(parts: readonly string[]): readonly string[] {
  return parts.join("").split("\n").slice(0, -1);
}

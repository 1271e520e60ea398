/** Runs the command `lifeboat` on a sandbox cluster, as a person does. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { run } from "../../../infra/cli/run.ts";
import { type Credentials, kubeconfigText } from "../../../infra/sandbox/index.ts";
import { type Machine, machineOf } from "./machine.ts";

export interface Said {
  /** The line in which a command prints the name of the cluster before it changes something. */
  readonly where: string | undefined;
  readonly code: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

export interface Person extends Machine {
  /** The credentials for the kubeconfig, or the text of the kubeconfig. */
  readonly kubeconfig: Credentials | string;
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
  const said = linesOf(err);
  const where = said.find((one) => one.startsWith('context "'));
  return { code, out: linesOf(out), where, err: said.filter((one) => one !== where) };
}

function linesOf(parts: readonly string[]): readonly string[] {
  return parts.join("").split("\n").slice(0, -1);
}

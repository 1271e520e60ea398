/** Tests the sandbox with a real control plane. */
import { once } from "node:events";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimAddresses } from "../binaries/addresses.ts";
import { PROGRAM_NAMES } from "../binaries/control-plane.ts";
import { PRINTED } from "../binaries/kubevirt.ts";
import { createPrograms } from "../binaries/programs.ts";
import { startSandbox } from "../sandbox.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "binaries-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function install({ without }: { readonly without?: string } = {}): Promise<void> {
  for (const part of ["bin", "gen"]) await mkdir(join(folder, part));
  const names = [...PROGRAM_NAMES.map((name) => `bin/${name}`), ...PRINTED.map((name) => `gen/${name}`)];
  for (const name of names.filter((one) => one !== without)) {
    await writeFile(join(folder, name), "#!/bin/sh\necho I am $0; exit 7\n");
    await chmod(join(folder, name), 0o755);
  }
}

const start = () => startSandbox({ controlPlane: { binaries: folder } });

describe("a folder of programs", () => {
  // prettier-ignore
  test.each([
    ["bin/virt-api",      "no such program"],
    ["bin/etcd",          "no such program"],
    ["gen/apiservices.yaml", "no such file"],
  ])("without %s is refused with a message", async (without, what) => {
    await install({ without });
    await expect(start()).rejects.toThrow(`${join(folder, without)}: ${what}`);
  });

  test("is refused if its programs end at once: the error quotes the output of the first program that ended, and the logs are kept", async () => {
    await install();
    const message = await start().then(
      () => "it has started",
      (error: unknown) => String(error),
    );
    expect(message).toMatch(/(etcd|kube-apiserver) ended with exit code 7 before kube-apiserver is ready\nI am .*\1\n/);
    const [, logs = ""] = /The logs are in (.*)\.$/.exec(message) ?? [];
    expect(existsSync(join(logs, "etcd.log"))).toBe(true);
    await rm(logs, { recursive: true });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("programs end, and their folder is deleted, after the process that started them is killed", async () => {
  const module = fileURLToPath(new URL("../binaries/programs.ts", import.meta.url));
  const script = `
    const { createPrograms } = await import(${JSON.stringify(module)});
    const programs = await createPrograms();
    for (const name of ["one", "two"])
      programs.start({ name, command: "/bin/sh", args: ["-c", "echo $$; exec sleep 1000"], comesBack: true });
    console.log(programs.folder);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [chunk] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  const started = chunk.trim();
  const pidOf = async (name: string) => Number(await readFile(join(started, "log", `${name}.log`), "utf8"));
  await expect.poll(async () => [await pidOf("one"), await pidOf("two")].every((pid) => pid > 0)).toBe(true);
  const pids = [await pidOf("one"), await pidOf("two")];
  expect(pids.map(isAlive)).toEqual([true, true]);
  child.kill("SIGKILL");
  await expect.poll(() => [...pids.map(isAlive), existsSync(started)]).toEqual([false, false, false]);
});

test("a program that ends by itself is restarted, and a program that the test stops is not restarted", async () => {
  const programs = await createPrograms();
  const program = programs.start({ name: "short", command: "/bin/true", args: [], comesBack: true });
  const first = program.ended;
  expect(await first).toBe("true ended with exit code 0");
  await expect.poll(() => program.ended !== first).toBe(true);
  await program.end(0);
  const last = program.ended;
  await last;
  await programs.stop();
  expect(program.isRunning).toBe(false);
  expect(existsSync(programs.folder)).toBe(false);
});

test("two control planes have different addresses", async () => {
  const [one, other] = await Promise.all([claimAddresses(), claimAddresses()]);
  expect(one.serviceRange).not.toBe(other.serviceRange);
  expect(one.service(10)).toMatch(/^127\.\d+\.0\.10$/);
  await Promise.all([one.release(), other.release()]);
});

/** Checks types only. Nothing calls this function. */
export async function types(): Promise<void> {
  const simulated = await startSandbox({ empty: true });
  const real = await startSandbox({ controlPlane: { binaries: folder } });
  simulated.apiServer.faults.clear();
  await real.programs.kill("virt-controller");
  // @ts-expect-error: only the simulated API server has faults
  real.apiServer.faults.clear();
  // @ts-expect-error: a simulated control plane has no programs
  await simulated.programs.kill("virt-controller");
  // @ts-expect-error: KubeVirt has its own back-off
  real.migrations.configure({ backoffSeconds: 1 });
  // @ts-expect-error: a real control plane uses this machine's clock
  await startSandbox({ controlPlane: { binaries: folder }, clock: undefined });
}

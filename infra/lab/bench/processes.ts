/** Reads the CPU time and the memory of a process from /proc. Works only on Linux. */
import { readdir, readFile } from "node:fs/promises";

/** Returns the CPU time of all threads so far. Reads `schedstat`, because `stat` is exact only to 10 ms. */
export async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(
    threads.map(async (thread) => {
      const [nanoseconds = "0"] = (await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")).split(" ");
      return Number(nanoseconds) / 1e6;
    }),
  );
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** Returns the resident memory in millions of bytes. */
export async function memoryOf(pid: number): Promise<number> {
  const [, kib = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kib) * 1024) / 1e6;
}

/**
 * Returns the maximum resident memory of a process, in millions of bytes. Returns undefined if the process has ended.
 */
export async function peakMemoryOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return kib === undefined ? undefined : (Number(kib) * 1024) / 1e6;
}

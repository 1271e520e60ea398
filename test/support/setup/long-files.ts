/** Fails a whole test run if one test file takes too long, because the run ends only after its longest file. */
import type { Reporter, TestModule } from "vitest/node";

/**
 * The maximum share of the total time that one file may take. A limit in seconds would fail randomly on a slow machine.
 * The longest files take half of this share.
 */
const SHARE = 1 / 12;

/** The minimum number of files of a whole run. A run of only some folders has fewer files. */
const WHOLE = 150;

// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter by its path.
export default class LongFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < WHOLE || process.env["LIFEBOAT_NIGHTLY"] !== undefined) return;
    const all = modules.map((module) => ({ name: module.relativeModuleId, ms: msOf(module) }));
    const most = SHARE * all.reduce((sum, { ms }) => sum + ms, 0);
    for (const { name, ms } of all.filter((one) => one.ms > most)) {
      console.error(
        `${name} takes ${seconds(ms)}, more than a twelfth of all files' time (${seconds(most)}): shorten it, or split it`,
      );
      process.exitCode = 1;
    }
  }
}

function msOf(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic();
  return collectDuration + duration;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

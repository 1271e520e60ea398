/** Which of the product's files run, by V8's own count of the functions that are called. */
import { type Profiler, Session } from "node:inspector";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PRODUCT = /^(functions|shared|infra\/cli)\//;

export interface Coverage {
  /** The files of which a function has run since the last call, by path. */
  take(): ReadonlySet<string>;
  stop(): void;
}

export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    take() {
      let ran: ReadonlySet<string> | undefined;
      // A session of this thread answers before `post` returns.
      session.post("Profiler.takePreciseCoverage", (error, { result }) => {
        if (error !== null) throw error;
        ran = new Set(result.filter(hasRun).flatMap(({ url }) => pathOf(url)));
      });
      if (ran === undefined) throw new Error("the inspector has not answered");
      return ran;
    },
    stop() {
      session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}

function hasRun({ functions }: Profiler.ScriptCoverage): boolean {
  return functions.some(({ ranges }) => ranges.some(({ count }) => count > 0));
}

function pathOf(url: string): readonly string[] {
  if (!url.startsWith("file:")) return [];
  const path = fileURLToPath(url).slice(ROOT.length);
  return fileURLToPath(url).startsWith(ROOT) && PRODUCT.test(path) ? [path] : [];
}

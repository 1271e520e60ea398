/** Kills child processes when this process ends, even after SIGKILL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Watchdog {
  watch(child: ChildProcess): void;
  /** Kills the running child processes, and deletes the folder. */
  stop(): Promise<void>;
}

/**
 * The watchdog's script. It reads lines until its input ends: "+ ID" for a started process, and "- ID" for an ended
 * process. The script then kills the remaining processes.
 */
const SCRIPT = `
all=" "
while read -r sign id; do
  case $sign in
    +) all=" $id$all" ;;
    -) all="\${all%% $id *} \${all#* $id }" ;;
  esac
done
for id in $all; do kill -9 "$id" 2>/dev/null; done
rm -rf "$1"
`;

export function startWatchdog(folder: string): Watchdog {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "watchdog", folder], {
    // Ctrl-C in a terminal must not end the watchdog.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  shell.stdin.on("error", () => undefined);
  return {
    watch(child) {
      const { pid } = child;
      if (pid === undefined) return;
      shell.stdin.write(`+ ${pid}\n`);
      child.once("exit", () => shell.stdin.write(`- ${pid}\n`));
    },
    async stop() {
      if (shell.exitCode !== null || shell.signalCode !== null) return;
      const gone = once(shell, "close");
      shell.ref();
      shell.stdin.end();
      await gone;
    },
  };
}

/** What `lifeboat explain node` says before the drain. */
import type { Host } from "../../cli/host.ts";
import { run } from "../../cli/run.ts";
import type { Screen } from "../../tools/console/screen.ts";

export async function showPreflight(node: string, kubeconfig: string, screen: Screen): Promise<void> {
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text), isTTY: screen.colour };
  const host: Host = {
    stdout: stream,
    stderr: stream,
    env: process.env,
    now: () => new Date(),
    wait: () => Promise.resolve(),
    interrupted: new AbortController().signal,
    ask: () => Promise.resolve(undefined),
  };
  await run(["explain", "node", node, "--delete-emptydir-data", "--kubeconfig", kubeconfig], host);
  screen.print(
    "",
    `$ lifeboat explain node ${node} --delete-emptydir-data`,
    "",
    ...said.join("").trimEnd().split("\n"),
  );
}

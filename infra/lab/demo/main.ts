/** `npm start`: two clusters in one process, Lifeboat beside one of them or both, and a story told on both. */
import { parseArguments, USAGE, type Arguments } from "./arguments.ts";
import { runTool } from "../../tools/console/arguments.ts";
import { createScreen } from "../../tools/console/screen.ts";

/** The exit code if a signal ends the story; once it is told, the exit code is what it came to. */
const INTERRUPTED = 130;

async function start({ story, inCluster, exit }: Arguments): Promise<number> {
  let code = INTERRUPTED;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(code));
  const screen = createScreen(process.stdout);
  screen.print("Starting two clusters in this process (API server, scheduler, kubelets, KubeVirt), and Lifeboat …");
  // Loaded only now: it takes a second or two, and a usage error need not wait for it.
  const { run } = await import("./run.ts");
  await run({
    story,
    inCluster,
    screen,
    stayUp: process.stdout.isTTY && !exit,
    onTold: (well) => (code = well ? 0 : 1),
  });
  return code;
}

await runTool(USAGE, async () => {
  const parsed = parseArguments(process.argv.slice(2));
  if (parsed.help) return console.log(USAGE);
  return start(parsed);
});

/** `npm start`: two clusters in one process, Lifeboat beside one of them or both, and a story told on both. */
import { FLAG, HELP, nameOf, readArguments, runTool } from "../../tools/console/arguments.ts";
import { UsageError } from "../../cli/failed.ts";
import { createScreen } from "../../tools/console/screen.ts";

const STORIES = ["maintenance", "preemption", "taint", "pressure"] as const;

const USAGE = `Usage: npm start [-- [STORY] [--in-cluster] [--exit]]

Each story happens in two clusters: one goes without Lifeboat, or without what the story is about. Stories:
  maintenance  a node has to be empty at a given hour, and two of its virtual machines cannot migrate (the default)
  preemption   a pod of high priority takes the place of virtual machines
  taint        a NoExecute taint drives everything off a node
  pressure     a node runs out of memory, and its kubelet out of patience; then a kubelet has less, and one cluster
               goes without the shield

Options:
  --in-cluster   Lifeboat is two pods of its cluster, instead of a Worker beside it
  --exit         exit when the story is told, instead of leaving the clusters up to play with
  --help         show this text

The exit code is 0 if all went well with Lifeboat, and no virtual machine was lost.`;

/** The exit code if a signal ends the story; once it is told, the exit code is what it came to. */
const INTERRUPTED = 130;

await runTool(USAGE, async () => {
  const options = { exit: FLAG, "in-cluster": FLAG, help: HELP };
  const { values, positionals } = readArguments(process.argv.slice(2), options);
  const [name = "maintenance", second] = positionals.map((word) => nameOf(STORIES, word, "unknown story"));
  if (second !== undefined) throw new UsageError(`one story at a time: ${name}, then ${second}`);
  if (values.help) return console.log(USAGE);
  let code = INTERRUPTED;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(code));
  const screen = createScreen(process.stdout);
  screen.print("Starting two clusters in this process (API server, scheduler, kubelets, KubeVirt), and Lifeboat …");
  // Loaded only now: it takes a second or two, and a usage error need not wait for it.
  const [{ tell }, { STORY }] = await Promise.all([import("./tell.ts"), import("./stories/index.ts")]);
  await tell({
    acts: STORY[name],
    inCluster: values["in-cluster"],
    screen,
    stayUp: process.stdout.isTTY && !values.exit,
    onTold: (well) => (code = well ? 0 : 1),
  });
  return code;
});

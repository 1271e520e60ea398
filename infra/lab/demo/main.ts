/** `npm start`: runs one scenario in two clusters. Lifeboat runs in one or in both clusters. */
import { FLAG, HELP, nameOf, readArguments, runTool } from "../../tools/console/arguments.ts";
import { UsageError } from "../../cli/failed.ts";
import { createScreen } from "../../tools/console/screen.ts";

const SCENARIOS = ["maintenance", "plan", "preemption", "taint", "pressure"] as const;

const USAGE = `Usage: npm start [-- [SCENARIO] [--in-cluster] [--exit]]

Each scenario runs in two clusters. One of them lacks Lifeboat, or lacks the part of Lifeboat that the scenario shows. Scenarios:
  maintenance  (the default) a node has to be empty at a given time, and two of its virtual machines cannot migrate
  plan         six nodes are drained one after another; in the given order, a large VM finds no room on another node;
               all migrations of a second VM fail
  preemption   a pod of high priority preempts virtual machines
  taint        a node gets a NoExecute taint, which evicts the pods that do not tolerate it
  pressure     a node runs out of memory, and the kubelet evicts pods; in a second part, the kubelet evicts pods sooner,
               and only one cluster has the shield, with which a VM can move after SIGTERM

Options:
  --in-cluster   Lifeboat runs as two pods in its cluster, not as a Worker outside of it
  --exit         exit at the end of the scenario; otherwise, in a terminal, the clusters run until Ctrl-C
  --help         show this text

The exit code is 0 if all of this is true:
  - each disruption had its expected effect in both clusters;
  - the cluster with Lifeboat (in the second part of pressure: with the shield) lost no virtual machine;
  - the other cluster lost at least the expected number of virtual machines.`;

/** The exit code if a signal arrives before the end of the scenario. */
const INTERRUPTED = 130;

await runTool(USAGE, async () => {
  const options = { exit: FLAG, "in-cluster": FLAG, help: HELP };
  const { values, positionals } = readArguments(process.argv.slice(2), options);
  const [name = "maintenance", second] = positionals.map((word) => nameOf(SCENARIOS, word, "unknown scenario"));
  if (second !== undefined) throw new UsageError(`expected one scenario, but got two: ${name} and ${second}`);
  if (values.help) return console.log(USAGE);
  let code = INTERRUPTED;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(code));
  const screen = createScreen(process.stdout);
  screen.print("Starting two clusters in this process (API server, scheduler, kubelets, KubeVirt), and Lifeboat …");
  // Loads these modules after the arguments are checked. Loading takes seconds, and a usage error should appear at
  // once.
  const [{ play }, { SCENARIO }] = await Promise.all([import("./play.ts"), import("./scenarios/index.ts")]);
  await play({
    acts: SCENARIO[name],
    inCluster: values["in-cluster"],
    screen,
    stayUp: process.stdout.isTTY && !values.exit,
    onEnd: (well) => (code = well ? 0 : 1),
  });
  return code;
});

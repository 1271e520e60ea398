/**
 * `npm start`: a cluster in one process, Lifeboat beside it, and a story told on them.
 * Owns: the order of things, staying up, the exit code. Does not own: the stage, the scene, the stories.
 */
import { parseArguments, USAGE, type Arguments, type StoryName } from "./arguments.ts";
import { tellDrain } from "./drain-story.ts";
import { setScene } from "./scene.ts";
import { createScreen, type Screen } from "./screen.ts";
import { setStage, type Stage } from "./stage.ts";

/** Each tells its story and resolves to whether it ended well. */
const TELL: Readonly<Record<StoryName, (stage: Stage, screen: Screen) => Promise<boolean>>> = {
  drain: tellDrain,
};

/** Of an interrupted story; once it is told, the exit code is what it came to. */
const INTERRUPTED = 130;

async function run({ story, exit }: Arguments): Promise<number> {
  let code = INTERRUPTED;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(code));
  const screen = createScreen(process.stdout);
  screen.print(
    "Starting a cluster in this process (API server, scheduler, kubelets, KubeVirt), and Lifeboat beside it …",
  );
  const stage = await setStage();
  try {
    const { nodes, vms, pods } = await setScene(stage.client);
    await stage.reconcile();
    screen.print(`Lifeboat looks after ${vms} virtual machines on ${nodes} nodes, beside ${pods} other pods.`);
    code = (await TELL[story](stage, screen)) ? 0 : 1;
    if (exit || !process.stdout.isTTY) return code;
    screen.print(...invitation(stage));
    // Until a signal comes.
    return await new Promise<never>(() => undefined);
  } finally {
    await stage.stop();
  }
}

function invitation(stage: Stage): readonly string[] {
  return [
    "",
    "The cluster stays up until Ctrl-C. In another terminal:",
    "",
    `  export KUBECONFIG=${stage.kubeconfig}`,
    "  kubectl get virtualmachineinstances,poddisruptionbudgets --all-namespaces",
    "  kubectl get events --all-namespaces",
    "  kubectl uncordon node-1; kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data",
    "",
    `  curl -s --cacert ${stage.caFile} -H "Authorization: Bearer ${stage.operatorToken}" \\`,
    `    ${stage.lifeboat}/evacuations        # or /readyz, /explain/pods/NAMESPACE/POD`,
    "",
    `API server  ${stage.server}`,
    `Lifeboat    ${stage.lifeboat}`,
  ];
}

async function main(): Promise<number> {
  const parsed = parseArguments(process.argv.slice(2));
  switch (parsed.kind) {
    case "Help":
      console.log(USAGE);
      return 0;
    case "Error":
      console.error(`${parsed.message}\n\n${USAGE}`);
      return 2;
    case "Run":
      return run(parsed.arguments);
  }
}

process.exitCode = await main();

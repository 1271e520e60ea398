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

async function run({ story, exit }: Arguments): Promise<boolean> {
  const screen = createScreen(process.stdout);
  const interrupted = new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  screen.print(
    "Starting a cluster in this process: API server, scheduler, kubelets, KubeVirt; and Lifeboat in workerd …",
  );
  const stage = await setStage();
  try {
    const told = tell(story, stage, screen);
    const ended = await Promise.race([told, interrupted]);
    if (ended === undefined) return false;
    if (!exit && process.stdout.isTTY) {
      screen.print(...invitation(stage));
      await interrupted;
    }
    return ended;
  } finally {
    await stage.stop();
  }
}

async function tell(story: StoryName, stage: Stage, screen: Screen): Promise<boolean> {
  const { nodes, vms, pods } = await setScene(stage.client);
  await stage.reconcile();
  screen.print(`Lifeboat looks after ${vms} virtual machines on ${nodes} nodes, beside ${pods} ordinary pods.`);
  return TELL[story](stage, screen);
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
      return (await run(parsed.arguments)) ? 0 : 1;
  }
}

process.exitCode = await main();

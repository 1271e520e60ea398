/**
 * The order of things: stage, scene, story, and staying up for who wants to look around.
 * Owns: that order. Does not own: any of them.
 */
import type { StoryName } from "./arguments.ts";
import { tellDrain } from "./drain-story.ts";
import { setScene } from "./scene.ts";
import type { Screen } from "./screen.ts";
import { setStage, type Stage } from "./stage.ts";

/** Each tells its story and resolves to whether it ended well. */
const TELL: Readonly<Record<StoryName, (stage: Stage, screen: Screen) => Promise<boolean>>> = {
  drain: tellDrain,
};

export interface RunOptions {
  readonly story: StoryName;
  readonly screen: Screen;
  /** Until a signal comes. */
  readonly stayUp: boolean;
  readonly onTold: (well: boolean) => void;
}

export async function run({ story, screen, stayUp, onTold }: RunOptions): Promise<void> {
  const stage = await setStage();
  try {
    const { nodes, vms, pods } = await setScene(stage.client);
    await stage.reconcile();
    screen.print(`Lifeboat looks after ${vms} virtual machines on ${nodes} nodes, beside ${pods} other pods.`);
    onTold(await TELL[story](stage, screen));
    if (!stayUp) return;
    screen.print(...invitation(stage));
    await new Promise<never>(() => undefined);
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

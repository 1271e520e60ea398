/** The order of things: stage, scene, story, and staying up for who wants to look around. */
import type { StoryName } from "./arguments.ts";
import { lifeboatOf } from "./cluster.ts";
import { descheduler } from "./descheduler-story.ts";
import { drain } from "./drain-story.ts";
import { preemption } from "./preemption-story.ts";
import { pressure } from "./pressure-story.ts";
import { shield } from "./shield-story.ts";
import type { Screen } from "../../tools/console/screen.ts";
import { both, setStage, type Stage } from "./stage.ts";
import type { Story } from "./story.ts";
import { pageInvitation } from "../stage/page-invitation.ts";
import { taint } from "./taint-story.ts";

/** Each in its acts, one after another. */
const STORY: Readonly<Record<StoryName, readonly Story[]>> = {
  drain: [drain],
  preemption: [preemption],
  taint: [taint],
  pressure: [pressure, shield],
  descheduler: [descheduler],
};

export interface RunOptions {
  readonly story: StoryName;
  /** Lifeboat is pods of its cluster. */
  readonly inCluster: boolean;
  readonly screen: Screen;
  /** Until a signal comes. */
  readonly stayUp: boolean;
  readonly onTold: (well: boolean) => void;
}

export async function run({ story, onTold, ...options }: RunOptions): Promise<void> {
  const acts = STORY[story];
  let isWell = true;
  for (const [index, act] of acts.entries()) {
    const isLast = index === acts.length - 1;
    const told = (well: boolean) => {
      isWell &&= well;
      if (isLast) onTold(isWell);
    };
    if (index > 0) options.screen.print("", "And now in two other clusters:");
    await perform(act, { ...options, onTold: told, stayUp: options.stayUp && isLast });
  }
}

async function perform(story: Story, { inCluster, screen, stayUp, onTold }: Omit<RunOptions, "story">): Promise<void> {
  const stage = await setStage(story.setting, inCluster);
  try {
    const { withIt } = await both(stage, ({ client }) => story.setScene(client));
    await both(stage, async ({ lifeboat }) => lifeboat?.post("/reconcile"));
    const { nodes, vms, pods } = withIt;
    const others = pods === 0 ? "" : `, beside ${pods} other ${pods === 1 ? "pod" : "pods"}`;
    screen.print(`Lifeboat looks after ${vms} virtual machines on ${nodes} nodes${others}.`);
    screen.print(`Another cluster is just like this one, but without ${story.about}.`);
    screen.print(...(await pageInvitation(stage.withIt.client, lifeboatOf(stage.withIt).url)));
    onTold(await story.tell(stage, screen));
    if (!stayUp) return;
    // A pod of it may have moved: from here on it answers elsewhere.
    if (inCluster) await lifeboatOf(stage.withIt).post("/reconcile");
    screen.print(...(await invitation(stage, story)));
    await new Promise<never>(() => undefined);
  } finally {
    await stage.stop();
  }
}

async function invitation({ withIt, without }: Stage, story: Story): Promise<readonly string[]> {
  const lifeboat = lifeboatOf(withIt);
  return [
    "",
    "The clusters stay up until Ctrl-C. In another terminal:",
    "",
    `  export KUBECONFIG=${withIt.kubeconfig}`,
    "  kubectl get evacuations,virtualmachineinstances --all-namespaces",
    "  kubectl get events --all-namespaces",
    ...story.encore(lifeboat).map((command) => `  ${command}`),
    "",
    `API server           ${withIt.server}`,
    `Lifeboat             ${lifeboat.url}`,
    ...(await pageInvitation(withIt.client, lifeboat.url)),
    `Cluster without it   KUBECONFIG=${without.kubeconfig}`,
  ];
}

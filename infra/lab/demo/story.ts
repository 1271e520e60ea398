/** What a story is. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import type { LifeboatBeside } from "./cluster.ts";
import type { Screen } from "../../tools/console/screen.ts";
import type { Setting, Stage } from "./stage.ts";

export interface Scene {
  readonly vms: number;
  readonly nodes: number;
  readonly pods: number;
}

export interface Story {
  /** What one of the two clusters is without. */
  readonly about: string;
  readonly setting: Setting;
  /** Puts nodes, virtual machines and pods into a cluster: the same into each. */
  setScene(client: KubeClient): Promise<Scene>;
  /** Resolves to whether it ended as it should, with no VM lost in the cluster that is without nothing. */
  tell(stage: Stage, screen: Screen): Promise<boolean>;
  /** Commands worth trying afterwards, in the cluster that is without nothing. */
  encore(lifeboat: LifeboatBeside): readonly string[];
}

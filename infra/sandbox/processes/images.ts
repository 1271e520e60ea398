/** Images whose containers run as processes of this machine. Containers of other images are only played. */
import type { Pod } from "../actors/resources.ts";

export interface Container {
  /** Environment variables from the pod's spec, without references that cannot be resolved here. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder under which the container's volumes are mounted. */
  readonly root: string;
  /** Returns the port of this machine for a port of the container, because several pods share one loopback address. */
  readonly portOf: (containerPort: number) => number;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** The working directory of the image. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
}

/** The programs, by the image's name in the pod. Only the first container of such a pod runs. */
export type Images = ReadonlyMap<string, (container: Container) => Program>;

export function imageOf(pod: Pod, images: Images): ((container: Container) => Program) | undefined {
  return images.get(pod.spec?.containers[0]?.image ?? "");
}

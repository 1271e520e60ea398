/** Images whose containers run as processes of this machine. All other containers are simulated. */
import type { Pod } from "../actors/resources.ts";

export interface Container {
  /** The pod's environment variables, without references that this sandbox cannot resolve. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which the container's volumes are mounted. */
  readonly root: string;
  /**
   * Returns the port of this machine for a port of the container. The two ports differ because all pods have the same
   * loopback address.
   */
  readonly portOf: (containerPort: number) => number;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
}

/** The programs, by the image name in the pod's spec. A pod runs only its first container. */
export type Images = ReadonlyMap<string, (container: Container) => Program>;

export function imageOf(pod: Pod, images: Images): ((container: Container) => Program) | undefined {
  return images.get(pod.spec?.containers[0]?.image ?? "");
}

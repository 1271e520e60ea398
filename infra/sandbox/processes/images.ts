/** Images whose containers run as processes of this machine. All other containers are simulated. */
import type { Pod } from "../actors/resources.ts";

export interface Container {
  /** The container's environment variables. Variables that refer to ConfigMaps or Secrets are empty. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which the container's volumes are mounted. */
  readonly root: string;
  /** Returns the port of this machine that stands for a port of the container. */
  readonly portOf: (containerPort: number) => number;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput?: (text: string) => void;
}

/**
 * Maps the image in a pod's spec to a function that returns the program of the container. A pod runs only its first
 * container.
 */
export type Images = ReadonlyMap<string, (container: Container) => Program>;

export function imageOf(pod: Pod, images: Images): ((container: Container) => Program) | undefined {
  return images.get(pod.spec?.containers[0]?.image ?? "");
}

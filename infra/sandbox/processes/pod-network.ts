/** Which port of this machine a pod's process has for a port of its container. */
import type { Pod } from "../actors/resources.ts";
import { freePort } from "../free-port.ts";

export class PodNetwork {
  readonly #ports = new Map<string, ReadonlyMap<number, number>>();

  /**
   * For each of the first container's ports, again with each start: another program of this machine may have taken one
   * before the process did.
   */
  async open({ metadata, spec }: Pod): Promise<void> {
    const ports = new Map<number, number>();
    for (const { containerPort } of spec?.containers[0]?.ports ?? []) ports.set(containerPort, await freePort());
    this.#ports.set(metadata.uid, ports);
  }

  /** Another program of this machine plays the pod. */
  lead(podUid: string, containerPort: number, port: number): void {
    this.#ports.set(podUid, new Map([[containerPort, port]]));
  }

  portOf(podUid: string, containerPort: number): number | undefined {
    return this.#ports.get(podUid)?.get(containerPort);
  }

  close(podUid: string): void {
    this.#ports.delete(podUid);
  }
}

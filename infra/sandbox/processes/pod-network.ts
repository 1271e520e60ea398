/** Maps the ports of containers to ports of this machine. */
import type { Pod } from "../actors/resources.ts";
import { freePort } from "../free-port.ts";

export class PodNetwork {
  readonly #ports = new Map<string, ReadonlyMap<number, number>>();

  /** Chooses a free port of this machine for each port of the first container. A restarted container gets new ports. */
  async open({ metadata, spec }: Pod): Promise<void> {
    const ports = new Map<number, number>();
    for (const { containerPort } of spec?.containers[0]?.ports ?? []) ports.set(containerPort, await freePort());
    this.#ports.set(metadata.uid, ports);
  }

  /** Routes requests for the pod's `containerPort` to the server that listens on `port` of this machine. */
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

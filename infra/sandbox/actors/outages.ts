/** Simulates faults of nodes: a power failure, a graceful shutdown, or a failed liveness probe. */
export interface Outages {
  isDown(node: string): boolean;
  stop(node: string): void;
  start(node: string): void;
  onStart(listener: (node: string) => void): void;
  /** Shuts the machine down gracefully. The machine is off until `start`. */
  shutDown(node: string): void;
  isShuttingDown(node: string): boolean;
  onShutDown(listener: (node: string) => void): void;
  /** Makes the liveness probe of a pod (`namespace/name`) fail. The kubelet then stops the containers. */
  failLivenessProbe(podKey: string): void;
  onProbeFailure(listener: (podKey: string) => void): void;
}

export function createOutages(): Outages {
  const down = new Set<string>();
  const shuttingDown = new Set<string>();
  const startListeners: ((node: string) => void)[] = [];
  const shutdownListeners: ((node: string) => void)[] = [];
  const probeListeners: ((podKey: string) => void)[] = [];
  return {
    isDown: (node) => down.has(node),
    stop: (node) => void down.add(node),
    start(node) {
      const [wasDown, wasShuttingDown] = [down.delete(node), shuttingDown.delete(node)];
      if (wasDown || wasShuttingDown) for (const listener of startListeners) listener(node);
    },
    onStart: (listener) => void startListeners.push(listener),
    shutDown(node) {
      if (shuttingDown.has(node)) return;
      shuttingDown.add(node);
      for (const listener of shutdownListeners) listener(node);
    },
    isShuttingDown: (node) => shuttingDown.has(node),
    onShutDown: (listener) => void shutdownListeners.push(listener),
    failLivenessProbe: (podKey) => probeListeners.forEach((listener) => listener(podKey)),
    onProbeFailure: (listener) => void probeListeners.push(listener),
  };
}

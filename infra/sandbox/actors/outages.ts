/** Nodes whose kubelet is stopped, as when the machine is off. */
export interface Outages {
  isDown(node: string): boolean;
  stop(node: string): void;
  start(node: string): void;
  onStart(listener: (node: string) => void): void;
}

export function createOutages(): Outages {
  const down = new Set<string>();
  const listeners: ((node: string) => void)[] = [];
  return {
    isDown: (node) => down.has(node),
    stop: (node) => void down.add(node),
    start(node) {
      if (down.delete(node)) for (const listener of listeners) listener(node);
    },
    onStart: (listener) => void listeners.push(listener),
  };
}

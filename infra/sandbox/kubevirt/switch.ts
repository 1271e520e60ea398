/**
 * Something of KubeVirt's that can be switched while it runs.
 * Owns: the position, telling who depends on it. Does not own: what it switches.
 */
export interface Switch {
  enabled: boolean;
  onChange(listener: () => void): void;
}

export function createSwitch(initially: boolean): Switch {
  const listeners: (() => void)[] = [];
  let enabled = initially;
  return {
    get enabled() {
      return enabled;
    },
    set enabled(value) {
      enabled = value;
      for (const listener of listeners) listener();
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

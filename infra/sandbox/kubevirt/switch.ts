/**
 * Something of KubeVirt's that can be switched while it runs.
 * Owns: the position, telling who depends on it. Does not own: what it switches.
 */
export interface Switch {
  enabled: boolean;
  onChange(listener: () => void): void;
}

/** What KubeVirt does or leaves to others. */
export interface Switches {
  /** Migrates what is marked; off unless asked for. */
  readonly evacuationController: Switch;
  /** On launcher pods; off unless asked for. */
  readonly deschedulerAnnotations: Switch;
  /** Deletes budgets whose controller is a VMI; on unless switched off. */
  readonly budgetDeletion: Switch;
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

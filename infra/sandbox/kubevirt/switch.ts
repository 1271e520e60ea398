/** Switches a part of KubeVirt on and off while it runs. */
export interface Switch {
  enabled: boolean;
  onChange(listener: () => void): void;
}

export interface Switches {
  /** The controller that migrates VMIs with evacuationNodeName. It is on by default. */
  readonly evacuationController: Switch;
  /** The annotations on launcher pods that the descheduler reads. They are off by default. */
  readonly deschedulerAnnotations: Switch;
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

/**
 * Calls the plugins' hooks on a node if the feature gate `Plugins` is on. The sandbox has no hook sockets, so every
 * call fails.
 */
import { pause, type Clock } from "../../actors/clock.ts";
import type { Informer } from "../../actors/informer.ts";
import { keyOf } from "../../actors/resources.ts";
import { Language, wordsOf } from "../../apiserver/cel/language.ts";
import { PLUGINS_GATE } from "../webhooks/plugins.ts";
import type * as kubevirt from "../resources.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export interface NodeHooksOptions {
  readonly clock: Clock;
  readonly plugins: Pick<Informer<kubevirt.Plugin>, "list">;
  readonly kubeVirts: Pick<Informer<kubevirt.KubeVirt>, "list">;
  readonly stopped: AbortSignal;
}

/** Thrown if a plugin refuses the shutdown. virt-handler retries later. */
export class HookError extends Error {}

const DIAL_MS = 2_000;

export type CallNodeHooks = (point: string, vmi: Vmi) => Promise<void>;

export function createNodeHooks({ clock, plugins, kubeVirts, stopped }: NodeHooksOptions): CallNodeHooks {
  const isOn = () =>
    [...kubeVirts.list()].some(({ spec }) =>
      spec.configuration?.developerConfiguration?.featureGates?.includes(PLUGINS_GATE),
    );

  return async (point, vmi) => {
    if (!isOn()) return;
    const sorted = [...plugins.list()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    // Evaluates all conditions before the first call. If an evaluation fails, the shutdown is refused.
    const hooks = sorted.flatMap((plugin) =>
      hooksOf(plugin, point, vmi).map((hook) => ({ plugin: plugin.metadata.name, hook })),
    );
    for (const { plugin, hook } of hooks) {
      await pause(clock, DIAL_MS, stopped);
      if (hook.failureStrategy === "Ignore") continue;
      const dial = `failed to dial plugin ${plugin} at ${hook.socket}: context deadline exceeded`;
      throw new HookError(`node hook ${point} from plugin ${plugin} failed: ${dial}`);
    }
  };
}

/**
 * Returns a plugin's hooks for this point. A hook's `failureStrategy` applies only to failed calls, and not to
 * conditions that cannot be evaluated.
 */
function hooksOf({ metadata, spec }: kubevirt.Plugin, point: string, vmi: Vmi): readonly kubevirt.NodeHook[] {
  const holds = (condition: string | undefined, what: string): boolean => {
    try {
      return evaluateCondition(condition, vmi);
    } catch (error) {
      throw new HookError(`CEL evaluation failed for plugin ${metadata.name}${what}: ${wordsOf(error)}`);
    }
  };
  if (!holds(spec.condition, " condition")) return [];
  return (spec.nodeHooks ?? []).filter(
    ({ permittedHooks, condition }) => permittedHooks.includes(point) && holds(condition, ""),
  );
}

const LANGUAGE = new Language().declare(undefined, "vmi");

/**
 * Evaluates a condition. In the sandbox, a missing field of the VMI is an error. The real virt-handler uses the field's
 * zero value instead.
 */
export function evaluateCondition(condition: string | undefined, vmi: object): boolean {
  if (condition === undefined || condition === "") return true;
  const result = LANGUAGE.run(condition, LANGUAGE.valuesOf({ vmi }));
  if (typeof result !== "boolean") throw new Error(`CEL expression must return bool, got ${typeof result}`);
  return result;
}

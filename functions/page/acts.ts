/**
 * Lists the actions for a VM or a node, each with its effect and its command. The page shows these commands, but does
 * not run them.
 */
import { html } from "hono/html";
import type { RollingMaintenanceFacts } from "../../shared/kube/rolling-maintenance.ts";
import { retryOf } from "../../shared/evacuation/identity.ts";
import { isMarked } from "../../shared/evacuation/mark.ts";
import { isToMove } from "../../shared/eviction/table.ts";
import { type EvacuationFacts, isActive } from "../../shared/kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../../shared/kube/facts.ts";
import type { NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { strategyOf } from "../../shared/settings/strategy.ts";
import { commandLine, type Html, isolated, shellLine } from "./components.ts";

export interface Act {
  readonly name: string;
  readonly effect: Html | string;
  readonly command: string;
}

export function actsPart(acts: readonly Act[]): Html | "" {
  if (acts.length === 0) return "";
  return html`<section>
    <h2>What you can do</h2>
    <p class="muted">This page changes nothing. Run a command with a kubeconfig of this cluster.</p>
    ${acts.map(
      ({ name, effect, command }) =>
        html`<div class="act" data-key="${name}">
          <p><strong>${name}.</strong> ${effect}</p>
          ${commandLine(command)}
        </div>`,
    )}
  </section>`;
}

interface Actable {
  readonly vmi?: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Settings;
}

/** Lists the actions on a VM that the `lifeboat` command would accept now. */
export function actsOnVm({ vmi, evacuations, settings }: Actable, key: NamespacedName): readonly Act[] {
  if (vmi === undefined || isFinal(vmi)) return [];
  const mayMove = isToMove(vmi, settings);
  const failed = mayMove ? retryOf(vmi, evacuations)?.evacuation : undefined;
  const retries = failed === undefined ? [] : [retry(failed, key)];
  if (evacuations.some(isActive) || isMarked(vmi)) return [...retries, cancel(vmi)];
  const isExternal = strategyOf(vmi, settings) === "External";
  return mayMove && failed === undefined ? [evacuate(key, isExternal)] : retries;
}

function ofVm(verb: string, { namespace, name }: NamespacedName): string {
  return shellLine("lifeboat", verb, name, "-n", namespace);
}

function retry({ status }: EvacuationFacts, key: NamespacedName): Act {
  const effect = html`The next attempt starts now. The last attempt failed: ${isolated(status.message)}`;
  return { name: "Try again now", effect, command: ofVm("retry", key) };
}

function cancel(vmi: VmiFacts): Act {
  const effect = html`The evacuation is withdrawn, the VMI's evacuationNodeName is removed, and the VM stays on node
  ${isolated(vmi.nodeName)}. A running drain requests a new evacuation within seconds: stop the drain first.`;
  return { name: "Cancel the evacuation", effect, command: ofVm("cancel", { ...vmi, name: `vm/${vmi.name}` }) };
}

function evacuate(key: NamespacedName, isExternal: boolean): Act {
  return {
    name: "Evacuate",
    effect: isExternal
      ? "The VMI's evacuationNodeName is set. The VM stays on its node until its external controller moves or stops it."
      : "KubeVirt migrates the VM to another node that has room. The guest continues to run.",
    command: ofVm("evacuate", key),
  };
}

/** Lists the ways to drain a node that has no NodeEvacuation. If `pinned` is set, the node has VMs that cannot move. */
export function actsOnNode(node: string, pinned: boolean): readonly Act[] {
  const drain: Act = {
    name: "Drain this node",
    effect:
      "Lifeboat cordons the node, migrates its VMs, and then evicts its other pods. The command first shows whether the drain will succeed. --at TIME starts the drain later.",
    command: shellLine("lifeboat", "drain", node),
  };
  const restart: Act = {
    name: "Drain this node, and restart the VMs that cannot move",
    effect:
      "KubeVirt restarts the VMs that can start on another node. The command names the VMs that cannot start on another node, and asks before it starts the drain. --when-blocked ShutDown stops the VMs that cannot move, and starts them when the node takes pods again.",
    command: shellLine("lifeboat", "drain", node, "--when-blocked", "Restart"),
  };
  return pinned ? [drain, restart] : [drain];
}

export function actsOnMaintenance({ spec }: NodeEvacuationFacts): readonly Act[] {
  if (spec.intent === "Withdrawn") return [];
  const node = spec.nodeName;
  const pause: Act = {
    name: "Pause",
    effect: "Nothing new starts; running migrations continue. The node stays cordoned.",
    command: shellLine("lifeboat", "pause", node),
  };
  const resume: Act = {
    name: "Resume",
    effect: "The remaining VMs and pods leave the node.",
    command: shellLine("lifeboat", "resume", node),
  };
  const cancel: Act = {
    name: "Cancel the maintenance",
    effect: "Running migrations continue, other VMs stay, and the node takes pods again if Lifeboat cordoned it.",
    command: shellLine("lifeboat", "cancel", `node/${node}`),
  };
  return [spec.progress === "Paused" ? resume : pause, cancel];
}

export function actsOnRolling({ name, spec }: RollingMaintenanceFacts): readonly Act[] {
  if (spec.intent === "Withdrawn") return [];
  const whole = `rollm/${name}`;
  const isPaused = spec.progress === "Paused";
  const change: Act = {
    name: isPaused ? "Resume" : "Pause",
    effect: isPaused
      ? "Lifeboat drains the remaining nodes."
      : "Nothing new starts on any of the nodes; running migrations continue.",
    command: shellLine("lifeboat", isPaused ? "resume" : "pause", whole),
  };
  const cancel: Act = {
    name: "Cancel the maintenance",
    effect:
      "No further drain starts. Running migrations continue, other VMs stay, and nodes that Lifeboat cordoned take pods again.",
    command: shellLine("lifeboat", "cancel", whole),
  };
  return [change, cancel];
}

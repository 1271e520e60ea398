/** What is in the way of a node's emptying, in words, with who can change it and how. */
import { html } from "hono/html";
import type { Blocker, BlockerKind } from "../../../shared/policy/preflight/progress.ts";
import type { Subject } from "../../../shared/policy/preflight/subjects.ts";
import { vmPath } from "../paths.ts";
import type { Html } from "../visit.ts";
import { badge, commandLine, type Mood } from "./components.ts";
import { counted } from "./fleet-words.ts";
import { sentence, shellLine, told, visible } from "./text.ts";

const MOST_NAMED = 8;

const KIND: Readonly<Record<BlockerKind, readonly [word: string, mood: Mood]>> = {
  Blocked: ["Blocks", "bad"],
  NoRoom: ["No room elsewhere", "bad"],
  Waits: ["Waits", "warn"],
  ShutsDown: ["Will be shut down", "warn"],
};

/** What each reason means to somebody who has never met it. `one` is what is held up. */
const WHY: Readonly<Record<string, (held: string) => string>> = {
  NotMigratable: (held) => `${held} cannot live-migrate, and its eviction strategy says that it must not be shut down`,
  External: (held) => `${held} must be moved by the controller that owns it: its eviction strategy is External`,
  UnknownStrategy: (held) => `${held} has an eviction strategy that KubeVirt does not know`,
  BudgetExhausted: (held) => `a PodDisruptionBudget allows no eviction of ${held} now`,
  SeveralBudgets: (held) =>
    `more than one PodDisruptionBudget selects ${held}: the API server refuses every eviction then`,
  Unmanaged: (held) => `${held} belongs to no controller: kubectl drain refuses to delete it without --force`,
  LocalStorage: (held) => `${held} has local data: kubectl drain refuses to delete it`,
  NoRoom: (held) => `no other node has room for ${held}`,
  BackingOff: (held) => `${held} could not be moved; Lifeboat tries again after a pause`,
  Abandoned: (held) => `${held} could not be moved, and Lifeboat has given up`,
  MigrationBlocked: (held) => `the migration of ${held} cannot begin`,
  StrategyNone: (held) => `${held} is shut down when the node is drained: its eviction strategy is None`,
  ShutdownByStrategy: (held) => `${held} cannot live-migrate, and is shut down when the node is drained`,
};

export function blockerList(blockers: readonly Blocker[], node: string, cluster: string): Html {
  return html`<ul class="blockers">
    ${blockers.map((one) => blockerItem(one, node, cluster))}
  </ul>`;
}

function blockerItem(one: Blocker, node: string, cluster: string): Html {
  const { kind, reason, remedy, held } = one;
  const [word, mood] = KIND[kind];
  const [only] = held;
  const what = held.length === 1 && only !== undefined ? nameOf(only.subject) : countedHeld(one);
  const why = WHY[reason]?.(what) ?? `${what}: ${reason}`;
  return html`<li class="${mood}">
    <h3>${badge(word, mood)} ${sentence(visible(why))}</h3>
    <ul>
      ${held.slice(0, MOST_NAMED).map(({ subject, message }) => html`<li>${link(subject, cluster)}: ${told(message)}</li>`)}
      ${held.length > MOST_NAMED ? html`<li class="muted">and ${held.length - MOST_NAMED} more</li>` : ""}
    </ul>
    ${remedy === undefined ? "" : html`<p><strong>Who can change it:</strong> ${remedy}.</p>`}
    ${only === undefined ? "" : commandLine(commandFor(reason, only.subject, node))}
  </li>`;
}

function nameOf({ verdict }: Subject): string {
  return verdict.vmi === undefined
    ? `pod ${verdict.namespace}/${verdict.name}`
    : `VM ${verdict.namespace}/${verdict.vmi}`;
}

function countedHeld({ held }: Blocker): string {
  const vms = held.filter(({ subject }) => subject.verdict.vmi !== undefined).length;
  return vms === held.length ? counted(vms, "VM") : counted(held.length, "pod");
}

function link({ verdict: { namespace, name, vmi } }: Subject, cluster: string): Html {
  if (vmi === undefined) return html`pod ${visible(`${namespace}/${name}`)}`;
  return html`<a href="${vmPath(cluster, { namespace, name: vmi })}">${visible(`${namespace}/${vmi}`)}</a>`;
}

/** What shows more of it, or ends it. */
function commandFor(reason: string, { verdict, evacuation }: Subject, node: string): string {
  const { namespace, name, vmi } = verdict;
  switch (reason) {
    case "NotMigratable":
      return shellLine("virtctl", "stop", vmi ?? name, "-n", namespace);
    case "BudgetExhausted":
    case "SeveralBudgets":
      return shellLine("kubectl", "get", "poddisruptionbudgets", "-n", namespace);
    case "Unmanaged":
      return shellLine("kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force");
    case "Abandoned":
    case "BackingOff":
      return shellLine("lifeboat", "retry", vmi ?? name, "-n", namespace);
    case "NoRoom":
      return shellLine("lifeboat", "explain", "node", node);
    default:
      if (evacuation !== undefined)
        return shellLine("kubectl", "describe", "evacuation", evacuation.name, "-n", namespace);
      return vmi === undefined
        ? shellLine("kubectl", "describe", "pod", name, "-n", namespace)
        : shellLine("kubectl", "describe", "vmi", vmi, "-n", namespace);
  }
}

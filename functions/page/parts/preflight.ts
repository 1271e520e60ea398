/** What a drain of a node would come to, as it was last looked at. */
import { html } from "hono/html";
import { durationText } from "../../../shared/policy/duration-text.ts";
import type { DrainTime, Outcome, Preflight } from "../../../shared/policy/preflight/facts.ts";
import type { NodeView } from "../node-reads.ts";
import type { Html } from "../visit.ts";
import { badge, commandLine, type Fact, factList } from "./components.ts";
import { counted } from "./fleet-words.ts";
import { VERDICT } from "./node-words.ts";
import { ago, sentence, shellLine, told } from "./text.ts";

const OUTCOMES: Readonly<Partial<Record<Outcome, string>>> = {
  Moves: "VMs that move",
  ShutsDown: "Guests shut down",
  Blocked: "Blocked",
  Waits: "Wait",
  Evicted: "Other pods evicted",
  Stays: "Pods that stay",
};

/** In the middle of a drain, how long that takes is told above, and how to begin is no question; one that was broken off can begin again. */
export function preflightPart({ preflight, preflightAt, progress, node }: NodeView, now: Date): Html {
  const isDraining = node.unschedulable && progress.active.length > 0;
  return html`<section>
    <h2>${isDraining ? "The whole drain" : "Would a drain succeed?"} ${badge(...VERDICT[preflight.verdict])}</h2>
    <p>${told(sentence(preflight.summary))} <span class="muted">Looked at ${ago(preflightAt, now)}.</span></p>
    ${factList([...outcomesOf(preflight), ...(isDraining ? [] : timeOf(preflight.time))])}
    ${
      preflight.unknown.length === 0
        ? ""
        : html`<p>Could not be read, or is not looked at: ${told(preflight.unknown.join("; "))}.</p>`
    }
    ${commandLine(shellLine("lifeboat", "explain", "node", node.name))}
    ${
      isDraining
        ? ""
        : html`${commandLine(shellLine("lifeboat", "drain", node.name))}
          ${commandLine(shellLine("kubectl", "drain", node.name, "--ignore-daemonsets", "--delete-emptydir-data"))}`
    }
  </section>`;
}

function outcomesOf({ counts }: Preflight): readonly Fact[] {
  return Object.entries(OUTCOMES).map(([outcome, words]) => {
    const count = Object.entries(counts).find(([name]) => name === outcome)?.[1] ?? 0;
    return [words, count === 0 ? "" : String(count)];
  });
}

function timeOf(time: DrainTime | undefined): readonly Fact[] {
  if (time === undefined || time.moves === 0) return [];
  const [least, most] = [durationText(time.seconds.least), durationText(time.seconds.most)];
  const range = least === most ? `about ${least}` : `${least} to ${most}`;
  return [
    ["Takes", range],
    ["How", time.waves === 1 ? "all at once" : `${time.atOnce} at a time, in ${counted(time.waves, "wave")}`],
    ["Rests on", told(time.basis)],
  ];
}

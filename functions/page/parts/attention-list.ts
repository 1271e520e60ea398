/** VMs that do not leave their node by themselves: why, and who can change it. */
import { html } from "hono/html";
import { strategyInForce } from "../../../shared/pass/explanation.ts";
import { type EvacuationFacts, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { REMEDY } from "../../../shared/policy/preflight/remedies.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { secondsUntil } from "../../../shared/policy/time.ts";
import type { ClusterView } from "../cluster-reads.ts";
import { vmPath } from "../paths.ts";
import type { Html, Seen } from "../visit.ts";
import { badge, commandLine, phaseBadge } from "./components.ts";
import { move, vmLink } from "./evacuation-rows.ts";
import { counted } from "./fleet-words.ts";
import { CAUSE_WORDS, PHASE_WORDS, whoCanChange } from "./phase-words.ts";
import { ago, lasting, sentence, shellLine, told, visible } from "./text.ts";

const MOST_NEEDY = 50;

type Place = Pick<Seen, "cluster" | "now">;

export function attentionList(
  needy: readonly EvacuationFacts[],
  { leftNodes, settings }: ClusterView,
  seen: Place,
): Html | "" {
  const heldFast = heldFastOf(leftNodes);
  if (needy.length + heldFast.length === 0) return "";
  const items = [
    ...heldFast.map((vmi) => () => heldFastItem(vmi, settings, seen.cluster)),
    ...needy.map((one) => () => needyItem(one, seen)),
  ];
  const more = items.length - MOST_NEEDY;
  return html`<section>
    <h2>Needs attention</h2>
    <ul class="blockers">
      ${items.slice(0, MOST_NEEDY).map((item) => item())}
    </ul>
    ${more > 0 ? html`<p class="muted">${more} more: the pages of the nodes name all.</p>` : ""}
  </section>`;
}

export function heldFastOf(leftNodes: ClusterView["leftNodes"]): readonly VmiFacts[] {
  return leftNodes.flatMap(({ since, heldFast }) => (since === undefined ? [] : heldFast));
}

/** No Evacuation tells of it: each eviction is refused. */
function heldFastItem(vmi: VmiFacts, settings: Settings, cluster: string): Html {
  const { migratable, reason = "", message = "" } = vmi.liveMigratable;
  const strategy = strategyInForce(vmi, settings);
  const why = migratable
    ? html`KubeVirt knows no eviction strategy ${told(strategy)}`
    : html`it cannot live-migrate (${told(reason || message)}), and its eviction strategy is ${told(strategy)}`;
  const remedy = migratable ? REMEDY.UnknownStrategy : REMEDY.NotMigratable;
  return html`<li data-key="${vmi.uid}">
    <p>
      <strong><a href="${vmPath(cluster, vmi)}">${visible(keyOf(vmi))}</a></strong> ${badge("Blocked", "bad")}
      ${move(cluster, vmi.nodeName, undefined)}
    </p>
    <p>The VM stays on a node that is to be emptied: ${why}.</p>
    <p><strong>Who can change it:</strong> ${remedy}.</p>
    ${commandLine(shellLine("kubectl", "describe", "vmi", vmi.name, "-n", vmi.namespace))}
  </li>`;
}

function needyItem(one: EvacuationFacts, { cluster, now }: Place): Html {
  const { namespace, spec, status } = one;
  const phase = status.phase ?? "Pending";
  const who = whoCanChange(phase, status.reason);
  return html`<li data-key="${one.uid}">
    <p>
      <strong>${vmLink(cluster, one)}</strong> ${phaseBadge(phase)} ${move(cluster, status.sourceNode, undefined)}
      <span class="muted">${CAUSE_WORDS[spec.cause]}, ${ago(new Date(one.createdAt), now)}</span>
    </p>
    <p>The VM ${PHASE_WORDS[phase].means}${attempts(one, now)}. ${told(sentence(status.message ?? ""))}</p>
    ${who === undefined ? "" : html`<p><strong>Who can change it:</strong> ${who}.</p>`}
    ${commandLine(shellLine("kubectl", "describe", "evacuation", one.name, "-n", namespace))}
  </li>`;
}

function attempts({ status: { attempts: failed, phase, nextAttemptTime } }: EvacuationFacts, now: Date): Html | "" {
  if (failed === 0) return "";
  const left = phase === "BackingOff" ? secondsUntil(nextAttemptTime, now) : 0;
  const next = left > 0 ? html`, the next in ${lasting(left)}` : "";
  return html` (${counted(failed, "failed attempt")}${next})`;
}

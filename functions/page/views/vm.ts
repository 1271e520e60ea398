/** A virtual machine: where it runs, what an eviction of it would get, what moves it, and its past. */
import { html } from "hono/html";
import { cooldownReason } from "../../../shared/policy/evacuation/cooldown.ts";
import { strategyInForce } from "../../../shared/pass/explanation.ts";
import { type EvacuationFacts, isFinal, type NamespacedName, type VmiFacts } from "../../../shared/policy/facts.ts";
import { VMI_NAME_LABEL } from "../../../shared/policy/names.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { secondsUntil } from "../../../shared/policy/time.ts";
import { badge, commandLine, conditionRows, crumbs, type Fact, factList, phaseBadge } from "../parts/components.ts";
import { evacuationRows, migrationRows, move, nodeLink } from "../parts/evacuation-rows.ts";
import { CAUSE_WORDS, whoCanChange } from "../parts/phase-words.ts";
import { ago, lasting, sentence, shellLine, told, visible } from "../parts/text.ts";
import { actsOn, byNewest, currentOf, evictionWords, vmVerdict } from "../parts/vm-words.ts";
import { type Act, actPath, clusterPath } from "../paths.ts";
import type { Html, LivePage, Seen, Visit } from "../visit.ts";
import { readVm, type VmView } from "../vm-reads.ts";

const MOST_EVACUATIONS = 50;
const ACT_WORDS = { evacuate: "Evacuate…", cancel: "Cancel the evacuation…", retry: "Try again now…" } as const;

export function vmPage({ target }: Visit, key: NamespacedName): LivePage<VmView> {
  return {
    key: `vm ${JSON.stringify([key.namespace, key.name])}`,
    title: `${key.namespace}/${key.name}`,
    maxAgeMs: 2000,
    read: () => readVm(key, target),
    view: vmView,
  };
}

function vmView(view: VmView, { cluster, visitor, now }: Seen): Html {
  const { key, vmi, evacuations, migrations } = view;
  const { namespace, name } = key;
  const current = currentOf(evacuations);
  const past = byNewest(evacuations);
  return html`${crumbs([cluster, clusterPath(cluster)], [`${namespace}/${name}`])}
    <h1>${visible(name)} <span class="muted">in ${visible(namespace)}</span></h1>
    <p class="lead">${vmVerdict(view)}</p>
    ${acts(view, cluster, visitor.mayAct)} ${current === undefined ? "" : currentPart(current, view, { cluster, now })}
    ${vmi === undefined ? "" : runningPart(view, vmi, { cluster, now })}
    <section>
      <h2>Evacuations</h2>
      ${
        past.length === 0
          ? html`<div class="empty">
              <p>None of this VM is known. Lifeboat keeps them for a while after their end.</p>
            </div>`
          : evacuationRows({
              cluster,
              now,
              caption: "Newest first",
              evacuations: past,
              most: MOST_EVACUATIONS,
              ofOneVm: true,
            })
      }
      ${commandLine(
        shellLine(
          "kubectl",
          "get",
          "evacuations",
          "-n",
          namespace,
          "--field-selector",
          `spec.virtualMachineInstance.name=${name}`,
          "-o",
          "wide",
        ),
      )}
    </section>
    <section>
      <h2>Migrations</h2>
      ${
        migrations === undefined
          ? html`<p>Lifeboat may not read them here.</p>`
          : migrationRows(cluster, migrations, now)
      }
      ${commandLine(shellLine("kubectl", "get", "vmim", "-n", namespace, "-l", `${VMI_NAME_LABEL}=${name}`))}
    </section>`;
}

type Place = Pick<Seen, "cluster" | "now">;

function currentPart(current: EvacuationFacts, { settings }: VmView, { cluster, now }: Place): Html {
  const { status } = current;
  const who = whoCanChange(status.phase ?? "Pending", status.reason);
  return html`<section>
    <h2>Under way ${phaseBadge(status.phase)}</h2>
    <p>${told(sentence(status.message ?? ""))}</p>
    ${who === undefined ? "" : html`<p><strong>Who can change it:</strong> ${who}.</p>`}
    ${factList(evacuationFacts(current, settings, { cluster, now }))} ${conditionsPart(current, now)}
    ${commandLine(shellLine("kubectl", "describe", "evacuation", current.name, "-n", current.namespace))}
  </section>`;
}

function evacuationFacts(current: EvacuationFacts, settings: Settings, { cluster, now }: Place): readonly Fact[] {
  const { spec, status } = current;
  // Its time is kept while the next attempt goes on.
  const next = status.phase === "BackingOff" ? secondsUntil(status.nextAttemptTime, now) : 0;
  const deadline = secondsUntil(spec.deadline, now);
  return [
    ["From → to", move(cluster, status.sourceNode, status.targetNode)],
    ["Because of", CAUSE_WORDS[spec.cause]],
    ["Asked by", told(spec.requestedBy)],
    ["Since", ago(new Date(current.createdAt), now)],
    ["Failed attempts", status.attempts === 0 ? "" : `${status.attempts} of ${settings.evacuation.maxAttempts}`],
    ["Next attempt", next > 0 ? html`in ${lasting(next)}` : ""],
    ["Deletion refused for", deadline > 0 ? lasting(deadline) : ""],
    ["Migration", told(status.migration?.name)],
  ];
}

function conditionsPart({ status: { conditions } }: EvacuationFacts, now: Date): Html | "" {
  if (conditions.length === 0) return "";
  return html`<details data-key="conditions">
    <summary>Conditions</summary>
    ${conditionRows(conditions, now)}
  </details>`;
}

/** The commands do the same from a terminal; they are there for those, too, who may only look here. */
function acts(view: VmView, cluster: string, mayAct: boolean): Html | "" {
  const { namespace, name } = view.key;
  const possible = actsOn(view);
  if (possible.length === 0) return "";
  const link = (act: Act) => html`<a class="button" href="${actPath(cluster, view.key, act)}">${ACT_WORDS[act]}</a>`;
  return html`${mayAct ? html`<p class="acts">${possible.map(link)}</p>` : ""}
  ${possible.map((act) => commandLine(shellLine("lifeboat", act, name, "-n", namespace)))}`;
}

function runningPart(view: VmView, vmi: VmiFacts, { cluster, now }: Place): Html {
  const { settings, key } = view;
  const cooldown = cooldownReason(vmi, { settings, now });
  return html`${isFinal(vmi) ? "" : evictionPart(view)}
    <section>
      <h2>The VM</h2>
      ${factList(vmFacts(view, vmi, { cluster, now }))}
      ${cooldown === undefined ? "" : html`<p>${told(sentence(cooldown))}</p>`}
      ${commandLine(shellLine("kubectl", "describe", "vmi", key.name, "-n", key.namespace))}
    </section>`;
}

function evictionPart(view: VmView): Html {
  const { pod, key } = view;
  const { answer, mood, outcome, details } = evictionWords(view);
  return html`<section>
    <h2>What an eviction would get now ${badge(answer, mood)}</h2>
    <p>${outcome}</p>
    ${details.map((words) => html`<p>${told(words)}</p>`)}
    ${pod === undefined ? "" : commandLine(shellLine("lifeboat", "explain", "pod", pod.name, "-n", key.namespace))}
  </section>`;
}

function vmFacts({ settings, pod }: VmView, vmi: VmiFacts, { cluster, now }: Place): readonly Fact[] {
  const { migratable, reason, message } = vmi.liveMigratable;
  const whose = vmi.evictionStrategy === undefined ? "KubeVirt's default" : "its own";
  const moved = vmi.movedAt === undefined ? "" : ago(new Date(vmi.movedAt), now);
  const took = vmi.movedInSeconds === undefined ? "" : html`, took ${lasting(vmi.movedInSeconds)}`;
  return [
    ["Runs on", nodeLink(cluster, vmi.nodeName)],
    ["Phase", told(vmi.phase)],
    ["Eviction strategy", html`${told(strategyInForce(vmi, settings))} <span class="muted">${whose}</span>`],
    ["Can migrate", migratable ? "yes" : html`no: ${told([reason, message].filter(Boolean).join(": "))}`],
    ["Last moved", moved === "" ? "" : html`${moved}${took}`],
    ["Memory", vmi.guestMemory === undefined ? "" : memoryText(vmi.guestMemory)],
    ["Backup", vmi.backup === undefined ? "" : html`${told(vmi.backup)} is under way: no migration begins`],
    ["Pod", told(pod?.name)],
  ];
}

function memoryText(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  return gib >= 1 ? `${Number(gib.toFixed(1))} GiB` : `${Math.round(bytes / 1024 ** 2)} MiB`;
}

/** Before an act: what it does for this VM now, and the line that does the same from a terminal. */
import { html } from "hono/html";
import type { foreseeCancel } from "../../../shared/pass/api.ts";
import type { foresee, retryOf } from "../../../shared/policy/evacuation/api.ts";
import { isActive } from "../../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, NamespacedName, VmiFacts } from "../../../shared/policy/facts.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { secondsUntil } from "../../../shared/policy/time.ts";
import { layout } from "../layout.ts";
import { ACT_BUTTONS, ACT_RESULTS, ACT_TITLES, beginningWords } from "../parts/act-words.ts";
import { commandLine, crumbs, notice } from "../parts/components.ts";
import { lasting, shellLine, told, visible } from "../parts/text.ts";
import { type Act, actPath, clusterPath, vmPath } from "../paths.ts";
import type { Html } from "../visit.ts";

export interface Foreseen {
  readonly cluster: string;
  readonly key: NamespacedName;
  readonly act: Act;
  readonly vmi: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Settings;
  readonly now: Date;
  /** Of an evacuation that begins now; absent: the VM does not run. */
  readonly next?: ReturnType<typeof foresee>;
  readonly retry?: ReturnType<typeof retryOf>;
  readonly cancel?: Awaited<ReturnType<typeof foreseeCancel>>["result"];
}

/** `impossible`: why there is nothing to confirm. */
interface Effect {
  readonly impossible?: string;
  readonly effects: readonly (Html | string)[];
}

export function confirmPage(f: Foreseen, visitor: string): Html {
  const { cluster, key, act } = f;
  const { namespace, name } = key;
  const { impossible, effects } = effectOf(f);
  const back = vmPath(cluster, key);
  const button = html`<form method="post" action="${actPath(cluster, key, act)}">
    <p class="acts">
      <button type="submit">${ACT_BUTTONS[act]}</button>
      <a href="${back}">No, go back</a>
    </p>
  </form>`;
  const main = html`${crumbs([cluster, clusterPath(cluster)], [`${namespace}/${name}`, back], [ACT_BUTTONS[act]])}
    <h1>${ACT_TITLES[act]} ${visible(name)} <span class="muted">in ${visible(namespace)}</span></h1>
    ${
      impossible === undefined
        ? html`<ul>
              ${effects.map((effect) => html`<li>${effect}</li>`)}
            </ul>
            <p>It is asked for as <bdi>${visible(visitor)}</bdi>.</p>
            ${button}`
        : html`${notice("warn", impossible)}
            <p class="acts"><a href="${back}">Back to the VM</a></p>`
    }
    <section>
      <h2>The same from a terminal</h2>
      ${commandLine(shellLine("lifeboat", act, name, "-n", namespace))}
    </section>`;
  return layout({ title: `${ACT_BUTTONS[act]}: ${namespace}/${name}`, visitor, main });
}

function effectOf(f: Foreseen): Effect {
  switch (f.act) {
    case "evacuate":
      return evacuating(f);
    case "retry":
      return retrying(f);
    case "cancel":
      return cancelling(f);
  }
}

function evacuating({ vmi, next }: Foreseen): Effect {
  if (vmi === undefined || next === undefined) return { impossible: ACT_RESULTS.NotRunning[1], effects: [] };
  return {
    effects: [
      html`An Evacuation is created for the VM, which is to leave node ${told(vmi.nodeName)}.`,
      told(beginningWords(next)),
    ],
  };
}

function retrying({ vmi, retry, next, settings, now }: Foreseen): Effect {
  if (vmi === undefined || next === undefined) return { impossible: ACT_RESULTS.NotRunning[1], effects: [] };
  if (retry === undefined) return { impossible: ACT_RESULTS.NothingFailed[1], effects: [] };
  const { attempts, message = "", nextAttemptTime } = retry.evacuation.status;
  const last = html`The last attempt failed: ${told(message)}`;
  if (retry.retry === "BeginAnew") {
    const again = html`A new Evacuation begins, which counts its attempts from one.`;
    return { effects: [last, again, told(beginningWords(next))] };
  }
  const { maxAttempts } = settings.evacuation;
  const left = secondsUntil(nextAttemptTime, now);
  const when = left > 0 ? html`now, not in ${lasting(left)}` : "now";
  return { effects: [last, html`Attempt ${attempts + 1} of ${maxAttempts} begins ${when}. Its count goes on.`] };
}

function cancelling({ cancel, vmi, evacuations, settings }: Foreseen): Effect {
  if (cancel === "DrainTaint") {
    const first = `kubectl taint node ${vmi?.nodeName ?? "NODE"} ${settings.drainTaintKey}-`;
    return { impossible: `${ACT_RESULTS.DrainTaint[1]} ${first}`, effects: [] };
  }
  if (cancel !== "Possible") return { impossible: ACT_RESULTS.NotEvacuating[1], effects: [] };
  const active = evacuations.filter(isActive);
  const moves = active.some(({ status }) => status.phase === "Migrating" && status.reason === "Running");
  const isDrained = active.length === 0 || active.some(({ spec }) => spec.cause === "ApiEviction");
  return {
    effects: [
      html`${active.length > 1 ? `${active.length} Evacuations of the VM are` : "The Evacuation of the VM is"}
      withdrawn, and its mark is taken off.`,
      moves
        ? "A migration moves the guest already: it is left to finish, so that the VM probably leaves its node all the same."
        : html`The VM stays on node ${told(vmi?.nodeName)}. A migration that waits is deleted.`,
      ...(isDrained
        ? ["A drain that goes on asks again within seconds, and begins the next one: stop the drain first."]
        : []),
    ],
  };
}

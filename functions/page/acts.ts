/** What a visitor may do to a VM: what each act does to it now, with its button; and what has come of it. */
import { html } from "hono/html";
import { cancelEvacuations, evacuateVm, retryVm } from "../../shared/evacuation/api.ts";
import { reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import { retryOf } from "../../shared/evacuation/identity.ts";
import type { EvacuationFacts } from "../../shared/kube/evacuation.ts";
import { isActive } from "../../shared/kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../../shared/kube/facts.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { isMarked, isToMove } from "../../shared/settings/strategy.ts";
import { reconcileWithin } from "../reconcile.ts";
import { RejectionError } from "../errors.ts";
import { type Act, actPath, type Html, isolated, type Mood, notice, visible, vmPath } from "./components.ts";
import type { PageContext, Visit } from "./session.ts";

const ACT_SECONDS = 10;

// prettier-ignore
const RESULTS = {
  Started:       ["good",  "The evacuation has started."],
  Joined:        ["quiet", "An evacuation was in progress already: nothing was changed."],
  Retried:       ["good",  "The next attempt begins now."],
  Withdrawn:     ["good",  "The evacuation is cancelled. A migration that moves the guest already is left to finish."],
  NotRunning:    ["warn",  "The VM does not run: there is nothing to move. Nothing was changed."],
  NotEvacuating: ["warn",  "Nothing evacuates the VM any more. Nothing was changed."],
  NothingFailed: ["warn",  "No evacuation of the VM backs off or was abandoned any more. Nothing was changed."],
  TryAgain:      ["warn",  "Another evacuation of the VM ended at the same time. Look at it, and try again."],
  DrainTaint:    ["warn",  "The node of the VM carries the drain taint, which would begin it again. Remove that first."],
} as const satisfies Record<string, readonly [Mood, string]>;

type Result = keyof typeof RESULTS;

/** What an address says has come of an act; undefined: nothing of the list. */
export function resultNotice(text: string | undefined): Html | undefined {
  const isResult = (name: string): name is Result => Object.hasOwn(RESULTS, name);
  if (text === undefined || !isResult(text)) return undefined;
  const [mood, words] = RESULTS[text];
  return notice(mood, html`<p>${words}</p>`);
}

interface Asked {
  readonly act: Act;
  readonly key: NamespacedName;
}

/** The page that they come back to says what has come of it. */
export async function act(c: PageContext, visit: Visit, asked: Asked): Promise<Response> {
  const { target, visitor } = visit;
  const { act: name, key } = asked;
  if (!visitor.mayAct) throw new RejectionError("Forbidden");
  const result = await resultOf(asked, visit);
  target.log({ level: "info", message: "a visitor has acted", act: name, ...key, visitor: visitor.name, result });
  await reconcileWithin(target, ACT_SECONDS, (deps) => reconcileVmi(key, deps));
  return c.redirect(`${vmPath(target.name, key)}?result=${result}`, 303);
}

async function resultOf({ act: name, key }: Asked, { target, visitor }: Visit): Promise<Result> {
  const cluster = target.connect(ACT_SECONDS);
  const now = target.platform.now();
  const asking = { requestedBy: visitor.name, cluster, now };
  switch (name) {
    case "evacuate":
      return (await evacuateVm(key, asking)).result;
    case "retry": {
      const { result } = await retryVm(key, asking);
      return result === "Started" || result === "Joined" ? "Retried" : result;
    }
    case "cancel": {
      const { settings } = await target.settings(cluster);
      return (await cancelEvacuations(key, { cluster, settings, now })).result;
    }
  }
}

/** Folded: what the act does to the VM as it is now, and its button. */
export function actForm(name: Act, view: Actable, { target, visitor }: Visit, key: NamespacedName): Html {
  return html`<details data-key="${name}">
    <summary>${ACT_WORDS[name]}…</summary>
    <p>${effectOf(name, view)}</p>
    <form method="post" action="${actPath(target.name, key, name)}">
      <p class="acts">
        <button type="submit">${ACT_WORDS[name]}</button> <span>as <bdi>${visible(visitor.name)}</bdi></span>
      </p>
    </form>
  </details>`;
}

function effectOf(name: Act, { vmi, evacuations }: Actable): Html | string {
  switch (name) {
    case "evacuate":
      return "KubeVirt migrates it to another node that has room for it, or its owner does. The guest continues to run.";
    case "retry": {
      const failed = vmi && retryOf(vmi, evacuations)?.evacuation.status.message;
      return html`The next attempt begins now. The last one failed: ${isolated(failed)}`;
    }
    case "cancel":
      return html`The evacuation is withdrawn, its mark is taken off, and the VM stays on node
      ${isolated(vmi?.nodeName)}. A drain that continues asks again within seconds: stop the drain first.`;
  }
}

const ACT_WORDS: Readonly<Record<Act, string>> = {
  evacuate: "Evacuate",
  cancel: "Cancel the evacuation",
  retry: "Try again now",
};

interface Actable {
  readonly vmi?: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Settings;
}

/** What a person may ask for now: what the acts themselves would find possible. */
export function actsOn({ vmi, evacuations, settings }: Actable): readonly Act[] {
  if (vmi === undefined || isFinal(vmi)) return [];
  const failed: readonly Act[] = retryOf(vmi, evacuations) === undefined ? [] : ["retry"];
  if (evacuations.some(isActive) || isMarked(vmi)) return [...failed, "cancel"];
  return failed.length === 0 && isToMove(vmi, settings) ? ["evacuate"] : failed;
}

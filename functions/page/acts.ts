/** What a visitor does: before it, what it does for this VM now; then what has come of it. */
import { html } from "hono/html";
import { cancelEvacuations, evacuateVm, retryVm } from "../../shared/evacuation/api.ts";
import { reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import { retryOf } from "../../shared/evacuation/identity.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { reconcileWithin } from "../reconcile.ts";
import { RejectionError } from "../errors.ts";
import {
  type Act,
  actPath,
  clusterPath,
  commandLine,
  crumbs,
  type Html,
  isolated,
  type Mood,
  notice,
  shellLine,
  visible,
  vmPath,
} from "./components.ts";
import { layout } from "./layout.ts";
import { readVm, type VmView } from "./reads.ts";
import type { PageContext, Visit } from "./visits.ts";
import { ACT_WORDS, actsOn } from "./words.ts";

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

const IMPOSSIBLE: Readonly<Record<Act, string>> = {
  evacuate: "The VM does not run, is being evacuated already, or has no way to move.",
  retry: "The VM does not run, or no evacuation of it backs off or was abandoned any more.",
  cancel: "The VM does not run, or nothing evacuates it any more.",
};

/** What an address says has come of an act; undefined: nothing of the list. */
export function resultNotice(text: string | undefined): Html | undefined {
  const isResult = (name: string): name is Result => Object.hasOwn(RESULTS, name);
  if (text === undefined || !isResult(text)) return undefined;
  const [mood, words] = RESULTS[text];
  return notice(mood, html`<p>${words}</p>`);
}

export interface Asked {
  readonly act: Act;
  readonly key: NamespacedName;
}

export async function askBefore(c: PageContext, visit: Visit, asked: Asked): Promise<Response> {
  mustBeAllowed(visit);
  const { target, visitor } = visit;
  const { act, key } = asked;
  const effects = effectsOf(act, await readVm(key, target));
  const [here, back] = [`${key.namespace}/${key.name}`, vmPath(target.name, key)];
  const cluster = clusterPath(target.name);
  const main = html`${crumbs([target.name, cluster], [here, back], [ACT_WORDS[act]])}
    <h1>${ACT_WORDS[act]}: ${visible(key.name)} <span class="muted">in ${visible(key.namespace)}</span></h1>
    ${
      effects === undefined
        ? html`${notice("warn", html`<p>${IMPOSSIBLE[act]}</p>`)}
            <p class="acts"><a href="${back}">Back to the VM</a></p>`
        : form(effects, asked, visit)
    }
    <section>
      <h2>The same from a terminal</h2>
      ${commandLine(shellLine("lifeboat", act, key.name, "-n", key.namespace))}
    </section>`;
  return c.html(await layout({ title: `${ACT_WORDS[act]}: ${here}`, visitor: visitor.name, main }));
}

/** The page that they come back to says what has come of it. */
export async function act(c: PageContext, visit: Visit, { act: name, key }: Asked): Promise<Response> {
  mustBeAllowed(visit);
  const { target, visitor } = visit;
  const result = await resultOf({ act: name, key }, visit);
  target.log({ level: "info", message: "a visitor has acted", act: name, ...key, visitor: visitor.name, result });
  await reconcileWithin(target, ACT_SECONDS, (deps) => reconcileVmi(key, deps));
  return c.redirect(`${vmPath(target.name, key)}?result=${result}`, 303);
}

function mustBeAllowed({ visitor }: Visit): void {
  if (!visitor.mayAct) throw new RejectionError("Forbidden");
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

function form(effects: readonly (Html | string)[], { act: name, key }: Asked, { target, visitor }: Visit): Html {
  return html`<ul>
      ${effects.map((effect) => html`<li>${effect}</li>`)}
    </ul>
    <p>It is asked for as <bdi>${visible(visitor.name)}</bdi>.</p>
    <form method="post" action="${actPath(target.name, key, name)}">
      <p class="acts">
        <button type="submit">${ACT_WORDS[name]}</button>
        <a href="${vmPath(target.name, key)}">No, go back</a>
      </p>
    </form>`;
}

/** What the act does to the VM as it is now; undefined: nothing. */
function effectsOf(name: Act, view: VmView): readonly (Html | string)[] | undefined {
  const { vmi, evacuations } = view;
  if (vmi === undefined || !actsOn(view).includes(name)) return undefined;
  const onNode = html`node ${isolated(vmi.nodeName)}`;
  switch (name) {
    case "evacuate":
      return [
        html`An Evacuation is created for the VM, which is to leave ${onNode}.`,
        "KubeVirt migrates it to another node that has room for it, or its owner does. The guest continues to run.",
      ];
    case "retry":
      return [
        html`The last attempt failed: ${isolated(retryOf(vmi, evacuations)?.evacuation.status.message)}`,
        "The next attempt begins now.",
      ];
    case "cancel":
      return [
        html`The evacuation of the VM is withdrawn, its mark is taken off, and it stays on ${onNode}.`,
        "A migration that waits is deleted. One that moves the guest already is left to finish.",
        "A drain that continues asks again within seconds: stop the drain first.",
      ];
  }
}

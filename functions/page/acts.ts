/** What a visitor may do to a VM, with what it does to it now and its button, and to a node; and what has come of it. */
import { html } from "hono/html";
import { cancelEvacuations, evacuateVm, retryVm } from "../../shared/evacuation/api.ts";
import { reconcileRequested, reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import { retryOf } from "../../shared/evacuation/identity.ts";
import type { EvacuationFacts } from "../../shared/kube/evacuation.ts";
import { isActive } from "../../shared/kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../../shared/kube/facts.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import { hasEnded, WHEN_BLOCKED } from "../../shared/kube/node-evacuation.ts";
import { isObjectKey } from "../../shared/kube/read.ts";
import { type Change, changeNodeEvacuation, emptyNode } from "../../shared/maintenance/api.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { isMarked } from "../../shared/evacuation/mark.ts";
import { isToMove } from "../../shared/eviction/table.ts";
import { reconcileWithin } from "../reconcile.ts";
import { RejectionError } from "../errors.ts";
import {
  type Act,
  actPath,
  type Html,
  isolated,
  type Mood,
  type NodeAct,
  nodePath,
  notice,
  visible,
  vmPath,
} from "./components.ts";
import { mayChange } from "./maintenance.ts";
import { mayEmpty } from "./maintenance-forms.ts";
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
  Emptying:      ["good",  "The maintenance of the node is asked for."],
  EmptyingJoined: ["quiet", "The node has a NodeEvacuation that has not ended: nothing was changed."],
  Paused:        ["good",  "Paused: nothing new begins."],
  Resumed:       ["good",  "The maintenance continues."],
  Cancelled:     ["good",  "The maintenance is cancelled. What moves already is left to finish."],
  Over:          ["warn",  "That NodeEvacuation has ended, or is gone. Nothing was changed."],
  ChangedSince:  ["warn",  "The NodeEvacuation has just been changed. Look at it, and try again."],
  NoTime:        ["warn",  "That is no time. Nothing was changed."],
  Lacking:       ["bad",   "Lifeboat's own account may not empty nodes in this cluster: lifeboat install --with maintenance adds that."],
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
  const result = await told(visit, { act: name, ...key }, () => resultOf(asked, visit));
  await reconcileWithin(target, ACT_SECONDS, (deps) => reconcileVmi(key, deps));
  return c.redirect(`${vmPath(target.name, key)}?result=${result}`, 303);
}

/** The cluster's audit log names only Lifeboat. What failed may have been done all the same. */
async function told({ target, visitor }: Visit, what: object, doing: () => Promise<Result>): Promise<Result> {
  let result: Result | "Unknown" = "Unknown";
  try {
    return (result = await doing());
  } finally {
    target.log({ level: "info", message: "a visitor has acted", ...what, visitor: visitor.name, result });
  }
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

interface AskedOfNode {
  readonly act: NodeAct;
  readonly node: string;
}

/** The API server would judge Lifeboat's account: what it asks of who writes a NodeEvacuation is asked of the visitor here. */
export async function actOnNode(c: PageContext, visit: Visit, { act: name, node }: AskedOfNode): Promise<Response> {
  const { target, visitor } = visit;
  if (!mayEmpty(visitor, [])) throw new RejectionError("Forbidden");
  if (!isObjectKey({ namespace: "", name: node })) throw new RejectionError("NodeNotFound");
  const form = new URLSearchParams(await c.req.text());
  const result = await told(visit, { act: name, node }, () =>
    name === "empty" ? emptied(form, node, visit) : changed(name, { form, node }, visit),
  );
  await reconcileWithin(target, ACT_SECONDS, (deps) => reconcileRequested([{ kind: "Node", name: node }], deps));
  return c.redirect(`${nodePath(target.name, node)}?result=${result}`, 303);
}

async function emptied(form: URLSearchParams, node: string, { target, visitor }: Visit): Promise<Result> {
  const whenBlocked = WHEN_BLOCKED.find((one) => one === (form.get("whenBlocked") ?? "Wait"));
  if (whenBlocked === undefined || !mayEmpty(visitor, [whenBlocked])) throw new RejectionError("Forbidden");
  const text = form.get("notBefore") ?? "";
  const time = text === "" ? undefined : timeOf(text);
  if (text !== "" && time === undefined) return "NoTime";
  const withLocalData = form.has("emptyDir");
  const asked = { node, requestedBy: visitor.name, whenBlocked, notBefore: time, withLocalData };
  const { result } = await emptyNode(asked, target.connect(ACT_SECONDS), target.platform.now());
  switch (result) {
    case "NodeNotFound":
      throw new RejectionError("NodeNotFound");
    case "Started":
      return "Emptying";
    case "Joined":
      return "EmptyingJoined";
    case "Lacking":
      return "Lacking";
    case "TryAgain":
      return "ChangedSince";
  }
}

/** As a browser sends it, in UTC. */
function timeOf(text: string): string | undefined {
  const time = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : "");
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

const CHANGED = { pause: "Paused", resume: "Resumed", cancel: "Cancelled" } as const;

async function changed(
  change: Change,
  { form, node }: { readonly form: URLSearchParams; readonly node: string },
  { target, visitor }: Visit,
): Promise<Result> {
  const cluster = target.connect(ACT_SECONDS);
  const all = await cluster.list("nodeevacuations");
  const found = all.find((ne) => ne.uid === form.get("uid") && ne.spec.nodeName === node && !hasEnded(ne));
  if (found === undefined) return "Over";
  if (!mayChange(visitor, change, found)) throw new RejectionError("Forbidden");
  const done = await changeNodeEvacuation(found, change, cluster);
  return done === "Done" ? CHANGED[change] : done === "Lacking" ? "Lacking" : "ChangedSince";
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
      return "KubeVirt migrates it to another node that has room for it, or its external controller does. The guest continues to run.";
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
  const mayMove = isToMove(vmi, settings);
  const failed: readonly Act[] = mayMove && retryOf(vmi, evacuations) !== undefined ? ["retry"] : [];
  if (evacuations.some(isActive) || isMarked(vmi)) return [...failed, "cancel"];
  return failed.length === 0 && mayMove ? ["evacuate"] : failed;
}

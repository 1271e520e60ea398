/** What a visitor may do about the maintenance of a node, and the forms for it, which say before what they do. */
import { html } from "hono/html";
import type { NodeEvacuationFacts, WhenBlocked } from "../../shared/kube/node-evacuation.ts";
import type { NodeVerdict, PodVerdict, Preflight } from "../../shared/preflight/facts.ts";
import { timeText } from "../../shared/preflight/duration.ts";
import {
  badge,
  counted,
  type Html,
  isolated,
  type Labelled,
  type NodeAct,
  nodePath,
  sentence,
  visible,
} from "./components.ts";
import type { NodeRight, Visit, Visitor } from "./session.ts";

export const VERDICTS: Readonly<Record<NodeVerdict, Labelled>> = {
  WillSucceed: ["A drain will succeed", "good"],
  WillSucceedWithShutdowns: ["A drain will succeed, with shutdowns", "warn"],
  Unknown: ["Not certain", "warn"],
  NoRoom: ["Not enough room", "bad"],
  WillBlock: ["A drain will block", "bad"],
};

export type Ways = readonly (WhenBlocked | undefined)[];

/** Whether a visitor may have a node emptied so that VMs which cannot move end in one of these ways. */
export function mayEmpty({ maintains = [] }: Visitor, ways: Ways): boolean {
  const needed: readonly NodeRight[] = [
    "look",
    "empty",
    ...(ways.includes("Restart") ? (["restart"] as const) : []),
    ...(ways.includes("ShutDown") ? (["stop"] as const) : []),
  ];
  return needed.every((right) => maintains.includes(right));
}

const ACTS: Readonly<Record<NodeAct, readonly [button: string, effect: string]>> = {
  empty: ["Empty this node", ""],
  pause: ["Pause", "Nothing new begins; what moves continues. The node stays cordoned."],
  resume: ["Resume", "The VMs and pods that are left leave the node."],
  cancel: [
    "Cancel the maintenance",
    "What moves continues, the rest stays, and the node takes pods again if Lifeboat cordoned it.",
  ],
};

function folded(
  act: NodeAct,
  { visit, node }: { readonly visit: Visit; readonly node: string },
  [effect, fields]: readonly Html[],
): Html {
  const [button] = ACTS[act];
  return html`<details data-key="${act}">
    <summary>${button}…</summary>
    ${effect}
    <form method="post" action="${nodePath(visit.target.name, node)}/${act}">
      ${fields}
      <p class="acts">
        <button type="submit">${button}</button> <span>as <bdi>${visible(visit.visitor.name)}</bdi></span>
      </p>
    </form>
  </details>`;
}

export function actForm(act: NodeAct, { uid, spec }: NodeEvacuationFacts, visit: Visit): Html {
  const field = html`<input type="hidden" name="uid" value="${uid}" />`;
  return folded(act, { visit, node: spec.nodeName }, [html`<p>${ACTS[act][1]}</p>`, field]);
}

export const WORDS: Readonly<Record<WhenBlocked, string>> = {
  Wait: "stay, and the node is not empty until a person acts",
  Restart: "are restarted on other nodes",
  ShutDown: "are stopped, and start when the node takes pods again",
};
const MOST_NAMED = 10;

function named(pods: readonly PodVerdict[], what: string): Html | "" {
  if (pods.length === 0) return "";
  const names = pods.slice(0, MOST_NAMED).map(({ namespace, vmi = "" }) => `${namespace}/${vmi}`);
  const text = names.join(", ") + (pods.length > MOST_NAMED ? " and others" : "");
  return html`<p>${counted(pods.length, "VM")} ${what}: ${isolated(text)}.</p>`;
}

export function startForm(visit: Visit, node: string, { verdict, summary, time, pods }: Preflight): Html {
  const pinned = pods.filter(({ outcome, reason }) => outcome === "Blocked" && reason === "NotMigratable");
  const ending = pods.filter(({ outcome, vmi }) => outcome === "ShutsDown" && vmi !== undefined);
  const effect = html`<p>Lifeboat cordons the node, migrates its VMs, and then evicts its other pods.</p>
    <p>
      ${badge(...VERDICTS[verdict])} ${isolated(sentence(summary))}
      ${time === undefined ? "" : sentence(timeText(time))}
    </p>
    ${named(ending, "will be shut down, by eviction strategy")} ${named(pinned, "cannot move")}`;
  const ways = (["Wait", "Restart", "ShutDown"] as const).filter((way) => mayEmpty(visit.visitor, [way]));
  const fields = html`<p>
      <label for="notBefore">Not before (UTC; now, if it is empty)</label>
      <input id="notBefore" name="notBefore" type="datetime-local" />
    </p>
    <p>
      <label for="whenBlocked">VMs that cannot move, and that no eviction shuts down</label>
      <select id="whenBlocked" name="whenBlocked">
        ${ways.map((way) => html`<option value="${way}">${WORDS[way]}</option>`)}
      </select>
    </p>
    <p>
      <label><input name="emptyDir" type="checkbox" value="lost" /> Pods with an emptyDir go, too, and lose it</label>
    </p>`;
  return folded("empty", { visit, node }, [effect, fields]);
}

/** The VMs of a node as a table: those that are here, and those that have left. */
import { html } from "hono/html";
import { isActive } from "../../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, NamespacedName } from "../../../shared/policy/facts.ts";
import type { VmProgress } from "../../../shared/policy/preflight/progress.ts";
import { isQueued, type Mood as Stage, targetOf } from "../../../shared/policy/preflight/subjects.ts";
import { secondsSince, secondsUntil } from "../../../shared/policy/time.ts";
import { type Act, actPath, vmPath } from "../paths.ts";
import type { Html } from "../visit.ts";
import { move } from "./evacuation-rows.ts";
import { badge, type Mood, phaseBadge } from "./components.ts";
import { ago, lasting, told, visible } from "./text.ts";
import { actsOn } from "./vm-words.ts";

export interface VmRows {
  readonly cluster: string;
  readonly now: Date;
  readonly mayAct: boolean;
  readonly maxAttempts: number;
}

/** Beyond the first number they are folded away, beyond the second counted: a page is no place to look for one of 500. */
const MOST_SHOWN = 50;
const MOST_LISTED = 200;

const MOODS: Readonly<Record<Stage, readonly [string, Mood]>> = {
  blocked: ["Blocked", "bad"],
  moving: ["Moving", "busy"],
  waiting: ["Waiting", "quiet"],
  gone: ["Gone", "good"],
};

export function vmRows(vms: readonly VmProgress[], options: VmRows): Html {
  const [shown, folded] = [vms.slice(0, MOST_SHOWN), vms.slice(MOST_SHOWN, MOST_LISTED)];
  return html`${table(shown, options)}
  ${
    folded.length === 0
      ? ""
      : html`<details data-key="more-vms">
          <summary>${folded.length} more</summary>
          ${table(folded, options)}
        </details>`
  }
  ${vms.length > MOST_LISTED ? html`<p class="muted">${vms.length - MOST_LISTED} more are not listed.</p>` : ""}`;
}

function table(vms: readonly VmProgress[], options: VmRows): Html {
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">VM</th>
        <th scope="col">State</th>
        <th scope="col">From → to</th>
        <th scope="col">Strategy</th>
        <th scope="col">Attempt</th>
        <th scope="col">Since</th>
        <th scope="col">What happens</th>
        ${options.mayAct ? html`<th scope="col">Act</th>` : ""}
      </tr>
    </thead>
    <tbody>
      ${vms.map((vm) => vmRow(vm, options))}
    </tbody>
  </table>`;
}

function vmRow({ subject, row }: VmProgress, { cluster, now, mayAct, maxAttempts }: VmRows): Html {
  const { verdict, evacuation } = subject;
  const key = { namespace: verdict.namespace, name: verdict.vmi ?? verdict.name };
  return html`<tr data-key="${row.key}">
    <th scope="row"><a href="${vmPath(cluster, key)}">${visible(`${key.namespace}/${key.name}`)}</a></th>
    <td data-label="State">${stateBadge({ subject, row })}</td>
    <td data-label="From → to">
      ${move(cluster, subject.vmi?.nodeName, row.mood === "moving" ? targetOf(subject) : undefined)}
    </td>
    <td data-label="Strategy">${told(subject.vmi?.evictionStrategy ?? "KubeVirt's default")}</td>
    <td data-label="Attempt">${attempt(evacuation, maxAttempts, now)}</td>
    <td data-label="Since">${evacuation === undefined ? "" : lasting(secondsSince(evacuation.createdAt, now))}</td>
    <td data-label="What happens">${told(wordsOf({ subject, row }))}</td>
    ${mayAct ? html`<td data-label="Act">${actLink(subject, cluster, key)}</td>` : ""}
  </tr>`;
}

/** Its Evacuation's phase where that says more than that it moves or waits. */
function stateBadge({ subject: { evacuation }, row }: VmProgress): Html {
  if (!isGettingOn(row) && evacuation !== undefined && isActive(evacuation)) return phaseBadge(evacuation.status.phase);
  return badge(...MOODS[row.mood]);
}

function isGettingOn(row: VmProgress["row"]): boolean {
  return row.mood === "moving" || isQueued(row);
}

function wordsOf({ subject: { verdict, evacuation }, row }: VmProgress): string {
  if (isGettingOn(row)) return row.words;
  if (evacuation !== undefined && isActive(evacuation)) return evacuation.status.message ?? row.words;
  return verdict.outcome === "Moves" ? "nothing asks it to leave yet" : verdict.message;
}

function attempt(evacuation: EvacuationFacts | undefined, most: number, now: Date): Html | "" {
  if (evacuation === undefined || !isActive(evacuation)) return "";
  const { attempts, phase, nextAttemptTime } = evacuation.status;
  const left = phase === "BackingOff" ? secondsUntil(nextAttemptTime, now) : 0;
  const next = left > 0 ? html`, next in ${lasting(left)}` : "";
  return html`${Math.min(attempts + 1, most)} of ${most}${next}`;
}

function actLink({ vmi, evacuation }: VmProgress["subject"], cluster: string, key: NamespacedName): Html | "" {
  const [act] = actsOn({ ...(vmi && { vmi }), evacuations: evacuation === undefined ? [] : [evacuation] });
  return act === undefined ? "" : html`<a href="${actPath(cluster, key, act)}">${ACT_WORDS[act]}</a>`;
}

const ACT_WORDS = { evacuate: "Evacuate…", cancel: "Cancel…", retry: "Try again…" } as const satisfies Record<
  Act,
  string
>;

/** Those that have left: newest first. */
export function goneRows(gone: readonly EvacuationFacts[], { cluster, now }: Pick<VmRows, "cluster" | "now">): Html {
  const hasFailed = gone.some(({ status }) => status.attempts > 0);
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">VM</th>
        <th scope="col">From → to</th>
        <th scope="col">Gone</th>
        <th scope="col">Took</th>
        ${hasFailed ? html`<th scope="col">Failed attempts</th>` : ""}
      </tr>
    </thead>
    <tbody>
      ${gone.map((one) => goneRow(one, { cluster, now, hasFailed }))}
    </tbody>
  </table>`;
}

interface GoneRow extends Pick<VmRows, "cluster" | "now"> {
  readonly hasFailed: boolean;
}

function goneRow(one: EvacuationFacts, { cluster, now, hasFailed }: GoneRow): Html {
  const { namespace, spec, status, createdAt } = one;
  const end = Date.parse(status.completionTime ?? "");
  // No function has looked at it since.
  const isKnown = !Number.isNaN(end);
  return html`<tr data-key="${one.uid}">
    <th scope="row">
      <a href="${vmPath(cluster, { namespace, name: spec.vmiName })}">${visible(`${namespace}/${spec.vmiName}`)}</a>
    </th>
    <td data-label="From → to">
      ${status.phase === "Gone" ? "ended here" : move(cluster, status.sourceNode, status.targetNode)}
    </td>
    <td data-label="Gone">${isKnown ? ago(new Date(end), now) : "just now"}</td>
    <td data-label="Took">${isKnown ? lasting((end - createdAt) / 1000) : ""}</td>
    ${hasFailed ? html`<td data-label="Failed attempts">${status.attempts === 0 ? "" : String(status.attempts)}</td>` : ""}
  </tr>`;
}

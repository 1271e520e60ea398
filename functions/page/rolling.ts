/** Renders RollingMaintenances: a time line with a bar for each node, the obstacles, and the commands. */
import { html } from "hono/html";
import {
  hasRollingEnded,
  type NodeRow,
  type RollingMaintenanceFacts,
  type RollingPhase,
  type RowPhase,
} from "../../shared/kube/rolling-maintenance.ts";
import { secondsUntil, withoutFractions } from "../../shared/settings/time.ts";
import { RejectionError } from "../errors.ts";
import { actsOnRolling, actsPart } from "./acts.ts";
import {
  ago,
  badge,
  clusterPath,
  type Column,
  counted,
  crumbs,
  factList,
  fromTerminal,
  type Html,
  isolated,
  lasting,
  nodeEvacuationLink,
  nodeLink,
  progressBar,
  rollingLink,
  sentence,
  shellLine,
  table,
  type Tone,
  visible,
} from "./components.ts";
import { findByName } from "./find.ts";
import type { Shown } from "./layout.ts";
import type { Visit } from "./session.ts";
import { type Bar, type Span, timeLineOf } from "./time-line.ts";

const MOODS: Readonly<Record<RollingPhase, Tone>> = {
  Blocked: "bad",
  Running: "busy",
  Paused: "warn",
  Scheduled: "quiet",
  Completed: "good",
  Stopped: "bad",
  Withdrawn: "quiet",
};

const ROW_MOODS: Readonly<Record<RowPhase, Tone>> = {
  Pending: "quiet",
  Starting: "busy",
  Blocked: "bad",
  Evacuating: "busy",
  Paused: "warn",
  Scheduled: "quiet",
  Evacuated: "good",
  Returned: "good",
  Refused: "bad",
  Expired: "bad",
  Withdrawn: "quiet",
  Gone: "quiet",
  Skipped: "quiet",
};

const MOST = 500;

function phaseBadge({ status: { phase = "Scheduled" } }: RollingMaintenanceFacts): Html {
  return badge(phase, MOODS[phase]);
}

/** Renders the RollingMaintenances that have not ended. RollingMaintenances that need a person come first. */
export function rollingTable(all: readonly RollingMaintenanceFacts[], cluster: string, now: Date): Html {
  const columns: readonly Column<RollingMaintenanceFacts>[] = [
    { head: "Name", cell: ({ name }) => rollingLink(cluster, name) },
    { head: "Phase", cell: phaseBadge },
    { head: "Nodes", cell: doneOf },
    { head: "When", cell: (one) => whenOf(one, now) },
    { head: "Message", cell: ({ status }) => isolated(sentence(status.message ?? UNSEEN)) },
  ];
  const rows = all.toSorted((a, b) => rankOf(a) - rankOf(b) || a.createdAt - b.createdAt);
  return table(rows, { key: ({ uid }) => uid, columns, most: MOST });
}

function rankOf({ status: { phase = "Scheduled" } }: RollingMaintenanceFacts): number {
  return Object.keys(MOODS).indexOf(phase);
}

const UNSEEN = "Lifeboat has not processed the object yet";

function doneOf({ status: { nodeCounts: counts } }: RollingMaintenanceFacts): string {
  return counts === undefined ? "" : `${counts.evacuated} of ${counts.total} done`;
}

function whenOf({ spec, status }: RollingMaintenanceFacts, now: Date): Html | "" {
  const { startTime, estimatedCompletionTime, completionTime } = status;
  if (completionTime !== undefined) return html`ended ${ago(completionTime, now)}`;
  const { notBefore = "" } = spec.schedule;
  const until = secondsUntil(startTime === undefined ? notBefore : estimatedCompletionTime, now);
  if (until <= 0) return "";
  return startTime === undefined
    ? html`starts in ${lasting(until)} (${isolated(withoutFractions(notBefore))})`
    : html`ends in about ${lasting(until)}`;
}

export async function rollingPage({ target }: Visit, name: string): Promise<Shown> {
  const client = target.connect(READ_SECONDS);
  const found = await findByName("rollingmaintenances", name, client);
  if (found === undefined) throw new RejectionError("RollingMaintenanceNotFound");
  const { spec, status } = found;
  const now = target.platform.now();
  const counts = status.nodeCounts;
  const main = html`${crumbs([target.name, clusterPath(target.name)], [name])}
    <h1>${visible(name)} ${phaseBadge(found)}</h1>
    <p class="lead">${isolated(sentence(status.message ?? UNSEEN))}</p>
    ${
      counts === undefined
        ? ""
        : html`<p class="progress">
            ${progressBar(counts.evacuated, counts.total, doneOf(found))} <span>${doneOf(found)}</span>
          </p>`
    }
    ${factList([
      ["When", whenOf(found, now)],
      ["No drain starts after", isolated(withoutFractions(spec.schedule.notAfter ?? ""))],
      ["In parallel, at most", counted(spec.maxUnavailable, "node")],
      ["Forecast", isolated(status.forecast)],
    ])}
    <section>
      <h2>Time line</h2>
      ${timeLine(found, target.name, now)}
    </section>
    ${hasRollingEnded(found) ? "" : actsPart(actsOnRolling(found))}
    ${fromTerminal(shellLine("lifeboat", hasRollingEnded(found) ? "report" : "status", `rollm/${name}`), shellLine("kubectl", "describe", "rollingmaintenance", name))}`;
  return { title: name, every: EVERY_SECONDS, main };
}

const READ_SECONDS = 10;
const EVERY_SECONDS = 5;

function timeLine(found: RollingMaintenanceFacts, cluster: string, now: Date): Html {
  const { bars, span } = timeLineOf(found, now);
  if (bars.length === 0) return html`<p class="empty">Lifeboat selects the nodes when the maintenance starts.</p>`;
  const columns: readonly Column<Bar>[] = [
    { head: "Node", cell: ({ node }) => nodeLink(cluster, node.name) },
    { head: "Phase", cell: ({ node }) => badge(node.phase, ROW_MOODS[node.phase]) },
    { head: "Plan and progress", cell: (bar) => barOf(bar, span, now) },
    { head: "VMs", cell: ({ node }) => vmsOf(node) },
    { head: "Message", cell: ({ node }) => messageOf(node, cluster) },
  ];
  const caption = html`The pale bar shows the plan. The full bar shows what has happened. The time line is from
  ${shortTime(span.from)} to ${shortTime(span.to)}, UTC.`;
  return table(bars, { key: ({ node }) => node.name, columns, caption, most: MOST });
}

function vmsOf({ virtualMachines: vms }: NodeRow): string {
  return vms === undefined || vms.total === 0 ? "" : `${vms.total - vms.left} of ${vms.total} gone`;
}

function messageOf({ message, nodeEvacuation }: NodeRow, cluster: string): Html | "" {
  const words = message === undefined ? "" : isolated(sentence(message));
  if (nodeEvacuation === undefined) return words;
  return html`${words} ${nodeEvacuationLink(cluster, nodeEvacuation)}`;
}

const WIDTH = 1000;

/** Renders a bar. SVG attributes place the bar, because the page's Content-Security-Policy allows no inline styles. */
function barOf({ node, planned, actual }: Bar, { from, to }: Span, now: Date): Html {
  const place = (time: number) => Math.round((Math.min(Math.max(time, from), to) - from) * (WIDTH / (to - from)));
  const rect = (span: Span | undefined, name: string, y: number) =>
    span === undefined
      ? ""
      : html`<rect
          class="${name}"
          x="${place(span.from)}"
          y="${y}"
          width="${Math.max(6, place(span.to) - place(span.from))}"
          height="${24 - 2 * y}"
          rx="4"
        ></rect>`;
  const current =
    now.getTime() < to && now.getTime() > from
      ? html`<rect class="now" x="${place(now.getTime())}" y="0" width="3" height="24"></rect>`
      : "";
  return html`<svg
    class="bar ${ROW_MOODS[node.phase]}"
    viewBox="0 0 ${WIDTH} 24"
    preserveAspectRatio="none"
    role="img"
    aria-label="${barWords(planned, actual)}"
  >
    ${rect(planned, "planned", 2)} ${rect(actual, "actual", 6)} ${current}
  </svg>`;
}

function barWords(planned: Span | undefined, actual: Span | undefined): string {
  const said = [
    ...(planned === undefined ? [] : [`planned ${shortTime(planned.from)} to ${shortTime(planned.to)}`]),
    ...(actual === undefined ? [] : [`started ${shortTime(actual.from)}, until ${shortTime(actual.to)}`]),
  ];
  return said.length === 0 ? "not planned yet" : said.join("; ");
}

function shortTime(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

/**
 * Renders the page of a cluster: its nodes, the VMs that are leaving or have left a node, and Lifeboat's own problems.
 */
import { html } from "hono/html";
import { type Client, named } from "../../shared/kube/client.ts";
import type { ConfigurationObserved, Condition as Known } from "../../shared/kube/facts.ts";
import { CONFIGURATION } from "../../shared/kube/names.ts";
import { hasEnded } from "../../shared/kube/node-evacuation.ts";
import { ownValue } from "../../shared/kube/objects.ts";
import { noneOrUnread, unlessUnreadable } from "../errors.ts";
import {
  commandLine,
  counted,
  crumbs,
  fromTerminal,
  type Html,
  isolated,
  lasting,
  notice,
  section,
  visible,
} from "./components.ts";
import { evacuationTable, type Sorted, sortEvacuations } from "./evacuations.ts";
import type { Shown } from "./layout.ts";
import { maintenanceTable } from "./maintenance.ts";
import { rollingTable } from "./rolling.ts";
import { asPartOf, hasRollingEnded } from "../../shared/kube/rolling-maintenance.ts";
import { countVms, isClosed, type NodeLine, nodeLines, nodeTable, type RecentVms, vmisOnAny } from "./nodes.ts";
import type { Visit } from "./session.ts";

const READ_SECONDS = 10;
/** Seconds between two refreshes of the page. A refresh reads every node. */
const EVERY_SECONDS = 10;
const MOST_OPEN = 200;
const MOST_ENDED = 50;

export async function clusterPage({ target }: Visit, recent: RecentVms): Promise<Shown> {
  const client = target.connect(READ_SECONDS);
  const { settings } = await target.settings(client);
  const unreadable = collectUnreadable();
  const [evacuations, known, nodes, maintenance, rolling, vmCounts] = await Promise.all([
    client.list("evacuations", unreadable.of("Evacuation")),
    clusterProblems(client),
    client.list("nodes", unreadable.of("node")),
    client.list("nodeevacuations", unreadable.of("NodeEvacuation")).catch(noneOrUnread),
    client.list("rollingmaintenances", unreadable.of("RollingMaintenance")).catch(noneOrUnread),
    countVms(target, { client, settings, recent }),
  ]);
  // A NodeEvacuation's status message already names a RollingMaintenance that cannot be parsed.
  const parts = { items: rolling ?? [], odd: [] };
  const planned = (maintenance ?? []).filter((ne) => !hasEnded(ne)).map((ne) => asPartOf(ne, parts));
  const unfinished = (rolling ?? []).filter((one) => !hasRollingEnded(one));
  const problems = [
    ...known,
    ...unreadableProblems("VM", vmCounts?.odd ?? []),
    ...unreadable.problems(),
    ...(maintenance === undefined ? [unread("NodeEvacuations")] : []),
    ...(rolling === undefined ? [unread("RollingMaintenances")] : []),
  ];
  const closed = nodes.filter((node) => isClosed(node, settings)).map(({ name }) => name);
  const seen = closed.length === 0 ? { vmis: [], isPartlySeen: false } : await vmisOnAny(closed, client);
  const lines = nodeLines(nodes, { evacuations, ...seen, settings, vmCounts });
  const now = target.platform.now();
  const { historySeconds } = settings.evacuation;
  const sorted = sortEvacuations(evacuations, now, historySeconds);
  const open = [...sorted.needAttention, ...sorted.inProgress];
  const caption = html`Kept for ${lasting(historySeconds)}. A pod's newest evacuation is kept while the pod exists`;
  const options = { cluster: target.name, now };
  const main = html`${crumbs([target.name])}
    <h1>${visible(target.name)}</h1>
    <p class="lead">${verdictOn(lines, sorted, problems)}</p>
    ${problemNotices(problems)}
    ${section("Rolling maintenance", unfinished, (rows) => rollingTable(rows, target.name, now))}
    ${section("Maintenance", planned, (rows) => maintenanceTable(rows, target.name, now))}
    <section>
      <h2>Nodes</h2>
      ${nodeTable(lines, target.name)}
    </section>
    ${section("VMs that leave their node", open, (rows) => evacuationTable(rows, { ...options, most: MOST_OPEN }))}
    ${section("Ended recently", sorted.ended, (rows) => evacuationTable(rows, { ...options, caption, most: MOST_ENDED }))}
    ${fromTerminal("kubectl get evacuations -A -o wide -w", "lifeboat doctor")}`;
  return { title: target.name, every: EVERY_SECONDS, main };
}

function verdictOn(lines: readonly NodeLine[], sorted: Sorted, problems: readonly Problem[]): string {
  const draining = lines.filter(({ state }) => state === "Draining");
  const stuck = draining.filter(({ blocked }) => blocked > 0).length;
  const wrong = problems.filter(({ mood }) => mood === "bad").length;
  const [attention, moving] = [sorted.needAttention.length, sorted.inProgress.length];
  const parts = [
    ...(wrong > 0 ? [`Lifeboat has ${counted(wrong, "problem")} here`] : []),
    ...(attention > 0 ? [`${counted(attention, "VM", ["needs", "need"])} attention`] : []),
    ...(draining.length > 0
      ? [`${counted(draining.length, "node", ["is", "are"])} being drained${blockedAmong(stuck, draining.length)}`]
      : []),
    ...(moving > 0 ? [`${counted(moving, "VM", ["is", "are"])} moving`] : []),
  ];
  const size = counted(lines.length, "node");
  if (parts.length > 0) return `${parts.join(", ")}. ${size}.`;
  return problems.some(isUnread) ? `Lifeboat could not read everything. It sees ${size}.` : `All is quiet: ${size}.`;
}

function blockedAmong(stuck: number, all: number): string {
  if (stuck === 0) return "";
  if (stuck === all) return all === 1 ? " and is blocked" : " and all are blocked";
  return ` (${stuck} of them blocked)`;
}

type Condition = ConfigurationObserved["conditions"][number];

/**
 * A problem of Lifeboat in a cluster. `bad` means that Lifeboat does not work. `warn` means that Lifeboat will stop
 * working, or that its state is unknown.
 */
export interface Problem {
  readonly mood: "bad" | "warn";
  readonly title: string;
  readonly message: string;
  /** Whether the problem is that something could not be read. */
  readonly isUnread?: true;
}

export const isUnread = ({ isUnread }: Problem) => isUnread === true;

const WRONG: Readonly<Record<Known["type"], string>> = {
  WebhookCalled: "The API server does not ask Lifeboat about evictions",
  Permitted: "Lifeboat lacks a permission",
  Valid: "The configuration is not valid",
  ReviewsDecided: "Lifeboat answered an eviction although it could not read what it needed",
  CredentialsValid: "Lifeboat's token does not work any more",
  CertificateValid: "The certificate of Lifeboat's webhooks has expired",
  GuardHolds: "The guard does not protect VMs while Lifeboat is unavailable",
};

export async function clusterProblems(cluster: Client): Promise<readonly Problem[]> {
  const conditions = cluster
    .get("lifeboatconfigurations", named(CONFIGURATION))
    .then((found) => found?.conditions ?? []);
  const known = await conditions.catch(unlessUnreadable);
  return known === undefined ? [unread("The conditions of Lifeboat")] : problemsOf(known);
}

/** Collects the parse errors of lists, by kind. The lists do not contain these objects. */
export function collectUnreadable() {
  const found = new Map<string, string[]>();
  return {
    of(kind: string) {
      const issues: string[] = [];
      found.set(kind, issues);
      return { onOdd: (issue: string) => void issues.push(issue) };
    },
    problems: () => [...found].flatMap(([kind, issues]) => unreadableProblems(kind, issues)),
  };
}

/** `issues` has one text for each object that cannot be parsed: `namespace/name: what is wrong`. */
function unreadableProblems(kind: string, issues: readonly string[]): readonly Problem[] {
  const [first] = issues;
  return first === undefined ? [] : [unread(counted(issues.length, kind), ` Lifeboat cannot parse ${first}`)];
}

function unread(what: string, why = ""): Problem {
  const message = `This page is incomplete.${why}`;
  return { mood: "warn", title: `${what} could not be read`, message, isUnread: true };
}

/** Lists the problems that conditions report, the worst first. */
function problemsOf(conditions: readonly Condition[]): readonly Problem[] {
  const problems = conditions.flatMap(({ type, status, reason, message }): readonly Problem[] => {
    if (reason === "ExpiresSoon") {
      const what = type === "CertificateValid" ? "The certificate of Lifeboat's webhooks" : "Lifeboat's token";
      return [{ mood: "warn", title: `${what} expires soon`, message }];
    }
    const title = ownValue(WRONG, type);
    if (title === undefined || status === "True") return [];
    if (status === "False") return [{ mood: "bad", title, message }];
    return [{ mood: "warn", title: `Not known yet: ${type}`, message }];
  });
  return problems.toSorted((a, b) => Number(a.mood === "warn") - Number(b.mood === "warn"));
}

export function problemNotices(problems: readonly Problem[]): Html | "" {
  if (problems.length === 0) return "";
  const one = ({ mood, title, message }: Problem) =>
    notice(mood, html`<p><strong>${title}.</strong> ${isolated(message)}</p>`);
  return html`${problems.map(one)}
    <p>${commandLine("lifeboat doctor")}</p>`;
}

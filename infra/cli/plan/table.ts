/** How a plan is printed for people: a row for each node, then what is the matter and who can change it. */
import type { NodePlan } from "../../../shared/plan/facts.ts";
import type { Plan } from "../../../shared/plan/plan.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";
import { troubleOf } from "../preflight.ts";
import type { Host } from "../host.ts";
import { paintFor, plain, printTable } from "../print.ts";

export function printPlan(plan: Plan, wide: boolean, host: Host): void {
  const paint = paintFor(host.stdout, host);
  const say = (line: string) => host.stdout.write(`${line}\n`);
  say(headline(plan));
  printTable(["NODE", "VMS", "MOVES", "RESTARTS", "ENDS", "VERDICT"], plan.nodes.map(rowOf), host.stdout);
  const seen = new Set<string>();
  for (const { node, pods, unknown } of plan.nodes) {
    for (const pod of pods.filter(isInTheWay)) {
      const [, first = "", ...more] = troubleOf(pod, paint);
      if (!seen.has(first)) [`${first} (${node})`, ...more].forEach(say);
      seen.add(first);
    }
    for (const what of unknown) {
      if (!seen.has(what)) say(`${paint("‼", "yellow")} not known: ${plain(what)}`);
      seen.add(what);
    }
  }
  if (!wide) return;
  say("");
  const rows = plan.nodes.flatMap(({ node, pods }) =>
    pods.flatMap(({ namespace, vmi, outcome, room, message }) =>
      vmi === undefined ? [] : [[node, namespace, vmi, outcome, room?.node ?? "", message]],
    ),
  );
  printTable(["NODE", "NAMESPACE", "VM", "OUTCOME", "TO", "MESSAGE"], rows, host.stdout);
}

function headline({ nodes }: Plan): string {
  const sum = (of: (node: NodePlan) => number) => nodes.reduce((total, node) => total + of(node), 0);
  const parts = [
    counted(
      sum(({ moves }) => moves),
      "migration",
    ),
    counted(
      sum(({ restarts }) => restarts),
      "restart",
    ),
    counted(
      sum(({ shutdowns }) => shutdowns),
      "shutdown",
    ),
  ];
  return `${counted(nodes.length, "node")}: ${parts.join(", ")}`;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

const LONGEST_NODE = 30;

function rowOf({ node, vms, moves, restarts, shutdowns, verdict }: NodePlan): readonly string[] {
  const name = node.length > LONGEST_NODE ? `${node.slice(0, LONGEST_NODE - 1)}…` : node;
  return [name, `${vms}`, `${moves}`, `${restarts}`, `${shutdowns}`, verdict];
}

/** Renders two tables of a node: its VMs, and the other pods that block a drain. */
import { REMEDY } from "../../shared/eviction/messages.ts";
import { isActive } from "../../shared/kube/evacuation.ts";
import type { PodVerdict } from "../../shared/preflight/facts.ts";
import { failingPhase, isInQueue, type Subject, type VmProgress } from "../../shared/preflight/progress.ts";
import { badge, type Column, type Html, isolated, table, visible, vmLink } from "./components.ts";
import { failedAttempts, phaseBadge, whoCanChange, withRemedy } from "./evacuations.ts";

const MOST_VMS = 200;
const MOST_PODS = 50;

export function vmTable(vms: readonly VmProgress[], cluster: string, now: Date): Html {
  const columns: readonly Column<VmProgress>[] = [
    { head: "VM", cell: ({ subject: { verdict } }) => vmLink(cluster, { ...verdict, name: verdict.vmi ?? "" }) },
    { head: "State", cell: stateBadge },
    {
      head: "Failed attempts",
      cell: ({ subject: { evacuation } }) => (evacuation === undefined ? "" : failedAttempts(evacuation, now)),
    },
    { head: "What happens", cell: messageOf },
  ];
  return table(vms, { key: ({ row }) => row.key, columns, most: MOST_VMS });
}

function stateBadge({ subject: { evacuation, vmi }, row }: VmProgress): Html {
  if (row.mood === "moving") return badge("Moving", "busy");
  if (isInQueue(row)) return badge("Waiting", "quiet");
  if (evacuation !== undefined && isActive(evacuation)) return phaseBadge(evacuation.status.phase);
  if (row.mood === "blocked") return badge("Blocked", "bad");
  return vmi?.evacuationNodeName === undefined ? badge("Running", "good") : badge("Waiting", "quiet");
}

function messageOf({ subject, row }: VmProgress): Html | "" {
  const { verdict, evacuation } = subject;
  if (row.mood === "moving" || isInQueue(row)) return isolated(row.words);
  if (verdict.room?.fits === false) return reasonOf(verdict);
  if (evacuation !== undefined && (isActive(evacuation) || failingPhase(subject) !== undefined)) {
    return withRemedy(evacuation.status.message ?? row.words, whoCanChange(evacuation));
  }
  return verdict.outcome === "Moves" ? howItMoves(subject) : reasonOf(verdict);
}

function howItMoves({ verdict: { room }, vmi }: Subject): Html | "" {
  const where = room?.node === undefined ? "" : `; ${room.node} has room`;
  return isolated(
    vmi?.evacuationNodeName === undefined
      ? `A drain moves it to another node${where}`
      : `It waits for its migration to start${where}`,
  );
}

function reasonOf({ message, remedy, room }: PodVerdict): Html | "" {
  return room?.fits === false ? withRemedy(room.message ?? "", REMEDY.NoRoom) : withRemedy(message, remedy);
}

export function podTable(pods: readonly Subject[]): Html {
  const columns: readonly Column<Subject>[] = [
    { head: "Pod", cell: ({ verdict: { namespace, name } }) => visible(`${namespace}/${name}`) },
    { head: "Message", cell: ({ verdict }) => reasonOf(verdict) },
  ];
  return table(pods, { key: ({ key }) => key, columns, most: MOST_PODS });
}

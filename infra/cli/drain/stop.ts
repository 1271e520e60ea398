/**
 * Stopping VMs that cannot move, and starting them again, by KubeVirt's subresources, as the person who drains. Upstream:
 * pkg/virt-api/rest/lifecycle.go, and syncRunStrategy of virt-controller.
 */
import * as z from "zod/mini";
import { object } from "../../../shared/cluster/paths.ts";
import { parseAnswer, readOne } from "../../../shared/cluster/read.ts";
import type { NamespacedName } from "../../../shared/policy/facts.ts";
import { keyOf } from "../../../shared/policy/facts.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { quoted } from "../print.ts";
import { isBlocked, type Subject } from "../../../shared/policy/progress/subjects.ts";

/** What `stop` leaves behind. `start` after it: as before; else what the VM is left with, and what brings it back. */
interface AfterStop {
  readonly stays: string;
  /** `start` gives the VM the run strategy that it had. */
  readonly startsAgain: boolean;
}

// prettier-ignore
const AFTER_STOP: Readonly<Record<string, AfterStop>> = {
  Always:         { stays: "stays off (Halted) until it is started",              startsAgain: true },
  Manual:         { stays: "stays off until it is started",                       startsAgain: true },
  RerunOnFailure: { stays: "stays off until it is started",                       startsAgain: true },
  // `start` would make it Always.
  Once:           { stays: "becomes Halted: whether it is to run again is for its owner to say", startsAgain: false },
};

export interface Stoppable extends NamespacedName, AfterStop {
  /** As the rows have it. */
  readonly key: string;
  readonly runStrategy: string;
}

export interface Choice {
  readonly stoppable: readonly Stoppable[];
  /** Why the others cannot be stopped this way. */
  readonly others: readonly string[];
}

/**
 * A budget is of another party, who has not said that the VM may stop. The owner of an External VM can move it, or empties the
 * node of a cluster of its own first.
 */
const NOT_STOPPED = new Set(["BudgetExhausted", "SeveralBudgets", "External"]);

export async function stoppableOf(subjects: readonly Subject[], connection: Connection): Promise<Choice> {
  const blocked = subjects.filter((subject) => isBlocked(subject) && !NOT_STOPPED.has(subject.verdict.reason));
  const found = await Promise.all(blocked.map((subject) => lookUp(subject, connection)));
  return {
    stoppable: found.flatMap((one) => (typeof one === "string" ? [] : [one])),
    others: found.filter((one) => typeof one === "string"),
  };
}

const VirtualMachine = z.object({
  spec: z.object({ runStrategy: z.optional(z.string()), running: z.optional(z.boolean()) }),
});

async function lookUp({ key, vmi }: Subject, connection: Connection): Promise<Stoppable | string> {
  if (vmi === undefined) return `${key} is no virtual machine: it is not stopped`;
  const { namespace, name } = vmi;
  const vm = await readOne(connection.send(), "virtualmachines", { namespace, name }, VirtualMachine);
  if (vm === undefined)
    return `${key} has no VirtualMachine object that KubeVirt could stop: its owner can delete the VMI`;
  const { runStrategy = vm.spec.running === true ? "Always" : "Halted" } = vm.spec;
  const after = AFTER_STOP[runStrategy];
  if (after === undefined) return `${key} has run strategy ${runStrategy}: KubeVirt does not stop it on request`;
  return { key, namespace, name, runStrategy, ...after };
}

const Status = z.object({ message: z._default(z.string(), "") });

/** Why not; undefined: KubeVirt has taken it up. */
export async function changeState(
  change: "start" | "stop",
  vm: NamespacedName,
  connection: Connection,
): Promise<string | undefined> {
  const path = `/apis/subresources.kubevirt.io/v1${object("virtualmachines", vm).replace("/apis/kubevirt.io/v1", "")}/${change}`;
  const request = { method: "PUT", path, body: {}, bodiless: true, expect: [403, 404, 409, 500] } as const;
  const { code, body } = await connection.send()(request);
  if (code < 300) return undefined;
  const message = quoted(parseAnswer(Status, body, `PUT ${path}`).message);
  if (code === 403) throw new Failed(`you are not allowed to ${change} VM ${keyOf(vm)}: ${message}`);
  return message;
}

export function startLine({ namespace, name, runStrategy, startsAgain }: Stoppable): string {
  if (startsAgain) return `virtctl start ${name} -n ${namespace}`;
  const patch = JSON.stringify({ spec: { runStrategy } });
  return `kubectl patch vm ${name} -n ${namespace} --type merge -p '${patch}'`;
}

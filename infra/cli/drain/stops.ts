/**
 * The VMs that cannot move and that a drain stops, and starts again, by KubeVirt's subresources, as the person who drains. Upstream:
 * pkg/virt-api/rest/lifecycle.go, and syncRunStrategy of virt-controller.
 */
import * as z from "zod/mini";
import { object, parseAnswer } from "../../../shared/kube/read.ts";
import type { NamespacedName } from "../../../shared/kube/facts.ts";
import { isBlocked, type Subject } from "../../../shared/preflight/subjects.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { quoted } from "../print.ts";
import type { Drain } from "./drain.ts";
import { keyOf } from "../../../shared/kube/objects.ts";

const START_TRIES = 10;

export type Stops = ReturnType<typeof createStops>;

/** By run strategy: what a VM is left with that was stopped. */
const AFTER_STOP: Readonly<Record<string, string>> = {
  Always: "stays off (Halted) until it is started",
  Manual: "stays off until it is started",
  RerunOnFailure: "stays off until it is started",
  Once: "becomes Halted: whether it is to run again is for its owner to say",
};

interface Stoppable extends NamespacedName {
  /** As the rows have it. */
  readonly key: string;
  readonly runStrategy: string;
}

/** `start` gives the VM the run strategy that it had; one of Once it would make Always. */
function startsAgain({ runStrategy }: Stoppable): boolean {
  return runStrategy !== "Once";
}

/**
 * A budget is of another party, who has not said that the VM may stop. The owner of an External VM can move it, or empties the
 * node of a cluster of its own first.
 */
const NOT_STOPPED = new Set(["BudgetExhausted", "SeveralBudgets", "External"]);

/** Of those that block, the ones that can be stopped, if the person agrees. */
export async function chooseStops(drain: Drain): Promise<Stops> {
  const { options, say, connection } = drain;
  if (!options.stopBlocked) return createStops([], drain);
  const blocked = drain.subjects.filter((one) => isBlocked(one) && !NOT_STOPPED.has(one.verdict.reason));
  const found = await Promise.all(blocked.map((subject) => lookUp(subject, connection)));
  const stoppable = found.filter((one) => typeof one !== "string");
  say(...found.filter((one) => typeof one === "string"));
  return createStops(stoppable.length > 0 && (await isAgreed(stoppable, drain)) ? stoppable : [], drain);
}

async function isAgreed(stoppable: readonly Stoppable[], { host, options, say }: Drain): Promise<boolean> {
  say("These VMs cannot move, and would be stopped (their guests shut down):");
  for (const vm of stoppable) {
    const isRestarted = options.restart === true && startsAgain(vm);
    const after = isRestarted ? "is started again, on another node" : AFTER_STOP[vm.runStrategy];
    say(`  ${keyOf(vm)} (run strategy ${vm.runStrategy}): ${after}`);
  }
  if (options.yes) return true;
  const answer = await host.ask("Stop them? [y/N] ");
  if (answer === undefined) say("without a terminal to ask on, --yes is needed to stop them");
  return isYes(answer);
}

/** Only a clear yes is one. */
export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

function createStops(wanted: readonly Stoppable[], { connection, options, say }: Drain) {
  const chosen = new Set(wanted.map(({ key }) => key));
  /** Those that are off because of this drain. */
  const off = new Map<string, Stoppable>();
  const toStart = new Map<string, Stoppable>();
  const stop = async (vm: Stoppable) => {
    off.set(vm.key, vm);
    const refusal = await changeState("stop", vm, connection).catch((error: unknown) => {
      say(`${vm.key} may have been stopped: no answer came. To start it again: ${startLine(vm)}`);
      throw error;
    });
    if (refusal !== undefined) {
      chosen.delete(vm.key);
      off.delete(vm.key);
      return say(`${vm.key} is not stopped: ${refusal}`);
    }
    if (options.restart && startsAgain(vm)) toStart.set(vm.key, vm);
  };
  const refusals = new Map<string, number>();
  /** KubeVirt may not be done with the request to stop yet: a refusal is asked again for some time. */
  const start = async (vm: Stoppable) => {
    if ((await connection.cluster().get("virtualmachineinstances", vm)) !== undefined) return;
    const refusal = await changeState("start", vm, connection);
    const count = (refusals.get(vm.key) ?? 0) + 1;
    refusals.set(vm.key, count);
    if (refusal !== undefined && count < START_TRIES) return;
    toStart.delete(vm.key);
    if (refusal === undefined) off.delete(vm.key);
    say(refusal === undefined ? `${vm.key} is started again` : `${vm.key} is not started again: ${refusal}`);
  };
  return {
    /** Keys of those that the person wants stopped. */
    chosen: chosen as ReadonlySet<string>,
    async stopChosen() {
      for (const vm of wanted) await stop(vm);
    },
    /** Starts those again that have stopped, if that was asked for. */
    async startStopped() {
      for (const [, vm] of toStart) await start(vm);
    },
    /** Whether some are still to be started again. */
    isBusy: () => toStart.size > 0,
    /** The commands that start the others. */
    startLines(): readonly string[] {
      const lines = [...off.values()].map((vm) => `  ${startLine(vm)}`);
      return lines.length === 0 ? [] : ["To start what has been stopped:", ...lines];
    },
  };
}

const VirtualMachine = z.object({
  spec: z.object({ runStrategy: z.optional(z.string()), running: z.optional(z.boolean()) }),
});

async function lookUp({ key, vmi }: Subject, connection: Connection): Promise<Stoppable | string> {
  if (vmi === undefined) return `${key} is no virtual machine: it is not stopped`;
  const { namespace, name } = vmi;
  const vm = await connection.cluster().get("virtualmachines", { namespace, name }, { as: VirtualMachine });
  if (vm === undefined)
    return `${key} has no VirtualMachine object that KubeVirt could stop: its owner can delete the VMI`;
  const { runStrategy = vm.spec.running === true ? "Always" : "Halted" } = vm.spec;
  if (AFTER_STOP[runStrategy] === undefined)
    return `${key} has run strategy ${runStrategy}: KubeVirt does not stop it on request`;
  return { key, namespace, name, runStrategy };
}

const Status = z.object({ message: z._default(z.string(), "") });

/** Why not; undefined: KubeVirt has taken it up. */
async function changeState(
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

function startLine(vm: Stoppable): string {
  const { namespace, name, runStrategy } = vm;
  if (startsAgain(vm)) return `virtctl start ${name} -n ${namespace}`;
  const patch = JSON.stringify({ spec: { runStrategy } });
  return `kubectl patch vm ${name} -n ${namespace} --type merge -p '${patch}'`;
}
